import { fileURLToPath } from "node:url"

const here = import.meta.url

/** Whether this is the source, two folders below the package, and not its bundle, one below it. */
export const isSource = here.endsWith(".ts")

/** A file or folder of the package itself. */
export const inPackage = (path: string): string => fileURLToPath(new URL(`${isSource ? "../../" : "../"}${path}`, here))

/** A file or folder in `src/assets`, which the build copies beside the bundle. */
export const inAssets = (path: string): string =>
  fileURLToPath(new URL(`${isSource ? "../" : "./"}assets/${path}`, here))
