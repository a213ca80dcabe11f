import { constants } from "node:fs"
import * as fs from "node:fs/promises"

/** Opens a file to be read while `use` runs. A pipe or a device, which might never answer, is refused without waiting for it. */
export const readingRegular = async <A>(file: string, use: (handle: fs.FileHandle) => Promise<A>): Promise<A> => {
  const handle = await fs.open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await handle.stat()).isFile()) throw new Error("it is not a regular file")
    return await use(handle)
  } finally {
    await handle.close()
  }
}
