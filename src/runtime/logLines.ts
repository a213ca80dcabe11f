/** Characters that wait at most; more are written at once. */
const most = 65_536

let waiting = ""
let isFirst = true

/** Writes what waits, at once. Call it before writing to standard error by other means, so that the order holds. */
export const flush = (): void => {
  if (waiting === "") return
  const text = waiting
  waiting = ""
  process.stderr.write(text)
}

/**
 * Writes a line to standard error after the work of this turn, with the lines that others add meanwhile: the write
 * blocks, and no answer should wait for it. Lines keep their order, and none is lost if the process exits.
 */
export const write = (line: string): void => {
  if (isFirst) process.once("exit", flush)
  isFirst = false
  if (waiting === "") setImmediate(flush)
  waiting += `${line}\n`
  if (waiting.length > most) flush()
}
