import { spawnSync } from "node:child_process"
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** How a disk fails: once or from one operation on, and with which error. */
export interface Failing {
  readonly error: "EIO" | "ENOSPC"
  readonly lasting: boolean
}

export const failings: ReadonlyArray<Failing> = (["EIO", "ENOSPC"] as const).flatMap((error) =>
  [false, true].map((lasting) => ({ error, lasting }))
)

const numbers = { EIO: 5, ENOSPC: 28 }

/** A disk below a program that can be made to fail; undefined without a C compiler, or not on Linux. */
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
    /** Sets the operation, counted from now and from 1, that fails. */
    arm: (at: number, { error, lasting }: Failing) => set(at, 0, numbers[error], lasting ? 1 : 0, 0),
    /** Stops failing; returns how many operations there were, and how many failed. */
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
