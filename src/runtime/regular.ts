import { constants } from "node:fs"
import * as fs from "node:fs/promises"

/** Opens a file to be read. A pipe or a device, which might never answer, is refused without waiting for it. */
export const openRegular = async (file: string): Promise<fs.FileHandle> => {
  const handle = await fs.open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Error("it is not a regular file")
}
