import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Script } from "node:vm"

// A thread of the store, as the launcher runs the program: compiling takes half of its start. V8 accepts the bytecode
// under the flags under which it was written: those of commands that end by themselves (launcher.mjs).
const folder = dirname(fileURLToPath(import.meta.url))
const filename = join(folder, "storeWorker.cjs")

const bytecode = () => {
  try {
    return readFileSync(join(folder, "storeWorker.bytecode"))
  } catch {
    return undefined
  }
}

const script = new Script(readFileSync(filename, "latin1"), { filename, cachedData: bytecode() })
script.runInThisContext()(createRequire(filename), filename)
