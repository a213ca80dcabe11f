import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parentPort } from "node:worker_threads"
import { compiled } from "./compiled.js"

// A thread of the store, as the launcher runs the program. V8 accepts the build's bytecode under the flags under which it
// was written: those of commands that end by themselves (launcher.mjs).
const filename = join(dirname(fileURLToPath(import.meta.url)), "storeWorker.cjs")
const { keep, script } = compiled(filename)
if (keep !== undefined) {
  // The thread ends without a word: at its first answer, the second, the fourth, and so on.
  const { postMessage } = parentPort
  let answers = 0
  parentPort.postMessage = (...given) => {
    postMessage.apply(parentPort, given)
    answers++
    if ((answers & (answers - 1)) === 0) keep()
  }
}
script.runInThisContext()(createRequire(filename), filename)
