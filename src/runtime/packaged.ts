import { fileURLToPath } from "node:url"

/** This file is two folders below the package as a source, one below it in the bundle. */
const here = import.meta.url
const isSource = here.endsWith(".ts")

/** A file or folder of the package itself. */
export const inPackage = (path: string): string => fileURLToPath(new URL(`${isSource ? "../../" : "../"}${path}`, here))

/** A file or folder below `src/assets`, which the build copies beside the bundle. */
export const inAssets = (path: string): string =>
  fileURLToPath(new URL(`${isSource ? "../" : "./"}assets/${path}`, here))
