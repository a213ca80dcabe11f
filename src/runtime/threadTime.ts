import * as fs from "node:fs"

/** Where a thread tells its number in the system; 0: it has not started yet, or the system has no such numbers. */
export type ThreadNumber = Int32Array<SharedArrayBuffer>

export const threadNumber = (): ThreadNumber => new Int32Array(new SharedArrayBuffer(4))

/** Tells the current thread's number. */
export const tellNumber = (number: ThreadNumber): void => {
  try {
    number[0] = Number(fs.readlinkSync("/proc/thread-self").split("/").at(-1))
  } catch {
    // Only Linux has it.
  }
}

/** Milliseconds in a tick of the times in /proc, which has the same unit on every machine. */
const tick = 10

/** The processor time of a thread, in milliseconds; undefined if the system does not tell. */
const spentBy = (number: number): number | undefined => {
  if (number === 0) return undefined
  try {
    const stat = fs.readFileSync(`/proc/self/task/${number}/stat`, "latin1")
    // The name before, in brackets, may have blanks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const ticks = Number(fields[11]) + Number(fields[12])
    return Number.isFinite(ticks) ? ticks * tick : undefined
  } catch {
    return undefined
  }
}

/**
 * Measures the processor time that a thread has used from now on, in milliseconds. Where the system does not tell it of
 * a thread, it is what the whole process has used, or the time that has passed, whichever is less.
 */
export const threadTime = (number: ThreadNumber): (() => number) => {
  const began = performance.now()
  const whole = process.cpuUsage()
  const first = number[0]!
  const before = spentBy(first) ?? 0
  return () => {
    const now = number[0]!
    // Another thread may have taken its place.
    const spent = spentBy(now)
    if (spent !== undefined) return now === first ? spent - before : spent
    if (process.platform === "linux" && now === 0) return 0
    const { system, user } = process.cpuUsage(whole)
    return Math.min(performance.now() - began, (user + system) / 1000)
  }
}
