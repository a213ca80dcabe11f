import { storeContract } from "../../contracts/Store.ts"
import { readingContract } from "../../contracts/reading.ts"
import { hasPostgres, newIndexOn, serverOfFile } from "./server.ts"

if (hasPostgres) {
  const index = newIndexOn(serverOfFile())
  storeContract("PostgreSQL", index)
  readingContract("PostgreSQL", index)
}
