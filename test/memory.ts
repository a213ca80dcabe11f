import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { join } from "node:path"

const memory = "/dev/shm"
/** The files of all tests at once take a part of it. */
const room = 2 ** 30

const hasRoom = () => {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= room
}

/**
 * Where the machine has a file system in memory, tests leave their files there: a commit takes milliseconds on a disk,
 * and they make thousands. What is about disks is in test/deep, which stays on them.
 */
export default function setup() {
  const given = process.env["TMPDIR"]
  if (given?.startsWith(memory) || !hasRoom()) return
  const folder = mkdtempSync(join(memory, "clew-test-"))
  // Some tests look at it as somebody who may read nothing else.
  chmodSync(folder, 0o755)
  process.env["TMPDIR"] = folder
  return () => {
    if (given === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = given
    rmSync(folder, { recursive: true, force: true })
  }
}
