import { fileURLToPath } from "node:url"

/** The source of this file is two folders below the package, its bundle one. */
const here = import.meta.url
const isSource = here.endsWith(".ts")

/** A file or folder of the package itself. */
export const inPackage = (path: string): string => fileURLToPath(new URL(`${isSource ? "../../" : "../"}${path}`, here))

/** A file or folder in `src/assets`, which the build copies beside the bundle. */
export const inAssets = (path: string): string =>
  fileURLToPath(new URL(`${isSource ? "../" : "./"}assets/${path}`, here))
