import { storeContract } from "../../contracts/Store.ts"
import { hasPostgres, newIndex } from "./server.ts"

if (hasPostgres) storeContract("PostgreSQL", newIndex)
