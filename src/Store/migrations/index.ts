import * as Migrator from "@effect/sql/Migrator"
import index from "./0001_index.ts"
import postings from "./0002_postings.ts"

const migrations = {
  "0001_index": index,
  "0002_postings": postings
}

/** The schema this program writes, kept in the database's `user_version`. */
export const schemaVersion = Object.keys(migrations).length

/** Brings a database up to `schemaVersion`. */
export const migrate = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "clew_migrations" })
