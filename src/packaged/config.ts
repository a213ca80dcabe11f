import { inPackage } from "../runtime/packaged.ts"

/** The reference for every key. */
export const packagedConfig: string = inPackage("config.toml")
