#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Script } from "node:vm"

const folder = dirname(fileURLToPath(import.meta.url))
const filename = join(folder, "program.cjs")

const bytecode = () => {
  try {
    return readFileSync(join(folder, "program.bytecode"))
  } catch {
    return undefined
  }
}

// Compiling takes half of a start. V8 takes the bytecode of the build if that was made by the same Node, and compiles anew otherwise.
// The script is ASCII alone (scripts/ascii.mjs), so this reads it as it was written, a byte a character.
const program = new Script(readFileSync(filename, "latin1"), { filename, cachedData: bytecode() })
program.runInThisContext()(createRequire(filename), filename)
