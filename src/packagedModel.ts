import { fileURLToPath } from "node:url"

/** The name of the model in the package. */
export const packagedModel = "clew-static-en-v1"

/** The width of its vectors, so that its identity is known before it is read. */
export const packagedDimensions = 256

/** Its folder, beside this file's source and beside the bundle alike. */
export const packagedModelFolder: string = fileURLToPath(new URL("./assets/clew-static-en-v1/", import.meta.url))
