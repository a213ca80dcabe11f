import { readingContract } from "../contracts/reading.ts"
import { storeContract } from "../contracts/Store.ts"
import { newIndex } from "./index.ts"

storeContract("OpenSearch", newIndex)
readingContract("OpenSearch", newIndex)
