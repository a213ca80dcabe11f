import { inAssets } from "../runtime/packaged.ts"

/** The name of the model in the package. */
export const packagedModel = "clew-static-en-v1"

/** The width of its vectors, so that its identity is known before it is read. */
export const packagedDimensions = 256

/** Its folder. */
export const packagedModelFolder: string = inAssets(`${packagedModel}/`)
