import { inAssets, inPackage } from "../runtime/packaged.ts"

/** The packaged model's name. */
export const packagedModel = "clew-static-en-v1"

/** The dimensions of its vectors, so that its identity is known before it is loaded. */
export const packagedDimensions = 256

/** Its folder. */
export const packagedModelFolder: string = inAssets(`${packagedModel}/`)

/** The reference for every key. */
export const packagedConfig: string = inPackage("config.toml")
