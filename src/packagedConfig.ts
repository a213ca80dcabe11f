import { fileURLToPath } from "node:url"

/** The reference of every key, in the package beside this file's folder and beside the bundle's alike. */
export const packagedConfig: string = fileURLToPath(new URL("../config.toml", import.meta.url))
