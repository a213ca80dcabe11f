import { execFileSync, spawn } from "node:child_process"
import { type Ended, ended, program, type Sandbox } from "../cli/program/sandbox.ts"

/** Whether mounts can be made, in a name space of our own; what needs them is skipped elsewhere. */
export const canMount = (() => {
  try {
    execFileSync("unshare", ["-m", "sh", "-c", "mount -t tmpfs none /mnt"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

/** Runs a shell script with `$clew` as the program and `$box` as the folder, in mounts that nobody else sees. */
export const inMounts = (box: Sandbox, text: string): Promise<Ended> => {
  const child = spawn("unshare", ["-m", "bash", "-euc", text], {
    cwd: box.folder,
    env: {
      PATH: process.env["PATH"],
      HOME: box.path("home"),
      CLEW_EMBEDDING_BACKEND: "builtin",
      clew: `${process.execPath} ${program}`,
      box: box.folder
    }
  })
  child.stdin.end()
  return ended(child)
}
