/** The process's standard output, for JSON-RPC alone. */
export interface Stdout {
  readonly write: (text: string, done: () => void) => void
  readonly pending: () => number
}

/**
 * Reserves standard output for the server: whatever else prints there, console.log and worker threads included, goes to
 * standard error instead.
 */
export const takeStdout = (): Stdout => {
  const { stderr, stdout } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  return {
    write: (text, done) => void write(text, () => done()),
    pending: () => stdout.writableLength
  }
}
