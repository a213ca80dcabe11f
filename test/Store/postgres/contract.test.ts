import { storeContract } from "../../contracts/Store.ts"
import { readingContract } from "../../contracts/reading.ts"
import { hasPostgres, newIndex } from "./server.ts"

if (hasPostgres) {
  storeContract("PostgreSQL", newIndex)
  readingContract("PostgreSQL", newIndex)
}
