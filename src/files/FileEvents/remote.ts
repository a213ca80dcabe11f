import * as fs from "node:fs"

/** Network file systems, which another machine may change, by their Linux numbers (statfs(2)). */
const remote = new Map([
  [0x69_69, "NFS"],
  [0x51_7b, "SMB"],
  [0xff_53_4d_42, "CIFS"],
  [0xfe_53_4d_42, "SMB2"],
  [0x01_02_19_97, "9P"],
  [0x53_46_41_4f, "AFS"],
  [0x00_c3_64_00, "Ceph"],
  [0x78_6f_73_76, "VirtualBox"]
])

/** The kind of network disk that holds a path; undefined for a local one. */
export const remoteDisk = (path: string): string | undefined => {
  if (process.platform !== "linux") return undefined
  try {
    return remote.get(fs.statfsSync(path).type >>> 0)
  } catch {
    return undefined
  }
}
