import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { cachedDataVersionTag } from "node:v8"
import { Script } from "node:vm"
import { threadId } from "node:worker_threads"

const { variables } = process.config
const ofV8 = Object.entries(variables).filter(([name]) => name.startsWith("v8_"))

/**
 * The first line of a file of bytecode: which Node made it. V8 tells its own version, but Node changes V8 and keeps that
 * version, and bytecode of another Node 20 ends the process by a segmentation fault.
 */
export const maker = Buffer.from(
  `${JSON.stringify([process.version, process.platform, process.arch, process.versions.v8, ofV8])}\n`
)

/** The bytecode in a file that this Node has made. */
const read = (file) => {
  try {
    const bytes = readFileSync(file)
    return bytes.subarray(0, maker.length).equals(maker) ? bytes.subarray(maker.length) : undefined
  } catch {
    return undefined
  }
}

/** Whether an installation is one's own: in that of somebody else each start compiles. */
const isWritable = (folder) => {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Whole or not at all. */
const write = (file, bytes) => {
  const part = `${file}.${process.pid}-${threadId}-${Date.now()}`
  try {
    writeFileSync(part, Buffer.concat([maker, bytes]), { flag: "wx", flush: true })
    renameSync(part, file)
  } catch {
    rmSync(part, { force: true })
  }
}

/**
 * A script of the build. Compiling takes half of the startup time, so bytecode lies beside it: the build's, or, where
 * another Node runs or other flags hold, what `keep` left in an earlier run; `keep` is undefined if V8 takes it, or
 * nobody may keep it. The script is ASCII only (scripts/ascii.mjs), so latin1 reads it correctly, one byte a character.
 */
export const compiled = (filename) => {
  // V8 tells another script only by its length, hence the build's name.
  const tag = cachedDataVersionTag()
  const own = filename.replace(/cjs$/, `BUILD.${tag}.bytecode`)
  const cachedData = read(own) ?? read(filename.replace(/cjs$/, "bytecode"))
  const script = new Script(readFileSync(filename, "latin1"), { filename, cachedData })
  const keep = () => {
    // Under flags that the program has set meanwhile, the next start would not take it.
    if (cachedDataVersionTag() === tag) write(own, script.createCachedData())
  }
  const isKept = script.cachedDataRejected === false || !isWritable(dirname(filename))
  return { script, keep: isKept ? undefined : keep }
}
