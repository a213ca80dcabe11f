import { asAtFirst } from "./methods.ts"

// Here and not in methods.ts, which is loaded once for all files.
asAtFirst()
