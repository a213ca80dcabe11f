import { setFlagsFromString } from "node:v8"
import { asAtFirst } from "./methods.ts"

// Most code of a test runs too seldom to be worth optimising: a tenth of the processor time.
if (process.versions.v8.startsWith("11.")) setFlagsFromString("--interrupt-budget=500000")

// Here and not in methods.ts, which is loaded once for all files.
asAtFirst()
