import { spawnSync } from "node:child_process"
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** How a disk fails: at one operation or at all from there on, and with what. */
export interface Failing {
  readonly error: "EIO" | "ENOSPC"
  readonly lasting: boolean
}

export const failings: ReadonlyArray<Failing> = (["EIO", "ENOSPC"] as const).flatMap((error) =>
  [false, true].map((lasting) => ({ error, lasting }))
)

const numbers = { EIO: 5, ENOSPC: 28 }

/** A disk below a program that can be told to fail; undefined where there is no C compiler, or the system is not Linux. */
export const failingDisk = (folder: string, prefix: string) => {
  if (process.platform !== "linux") return undefined
  const library = join(folder, "faults.so")
  const source = fileURLToPath(new URL("./shim.c", import.meta.url))
  if (spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]).status !== 0) return undefined
  const control = join(folder, "faults")
  writeFileSync(control, Buffer.alloc(4096))
  const fd = openSync(control, "r+")
  const set = (...values: ReadonlyArray<number>) => {
    writeSync(fd, Buffer.from(Int32Array.from(values).buffer), 0, 4 * values.length, 0)
  }
  return {
    env: { LD_PRELOAD: library, FAULTS: control, FAULTS_PATH: prefix },
    /** The operation from now on that fails, counted from 1. */
    arm: (at: number, { error, lasting }: Failing) => set(at, 0, numbers[error], lasting ? 1 : 0, 0),
    /** From here on the disk is well; how many operations there were, and how many of them failed. */
    disarm: () => {
      set(0)
      const found = Buffer.alloc(20)
      readSync(fd, found, 0, 20, 0)
      return { operations: found.readInt32LE(4), failed: found.readInt32LE(16) }
    },
    close: () => closeSync(fd)
  }
}

export type FailingDisk = NonNullable<ReturnType<typeof failingDisk>>
