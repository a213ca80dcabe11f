import { inPackage } from "../runtime/packaged.ts"

/** The reference of every key. */
export const packagedConfig: string = inPackage("config.toml")
