import * as Migrator from "@effect/sql/Migrator"
import index from "./0001_index.ts"
import postings from "./0002_postings.ts"
import codes from "./0003_codes.ts"
import runs from "./0004_runs.ts"
import fileMark from "./0005_file_mark.ts"
import rebuilds from "./0006_rebuilds.ts"
import files from "./0007_files.ts"
import graph from "./0008_graph.ts"
import names from "./0009_names.ts"
import checksums from "./0010_checksums.ts"
import locators from "./0011_locators.ts"
import digests from "./0012_digests.ts"
import tableHeaders from "./0013_table_headers.ts"
import contents from "./0014_contents.ts"
import linkages from "./0015_linkages.ts"
import graphAnswers from "./0016_graph_answers.ts"
import languages from "./0017_languages.ts"
import metadataKeys from "./0018_metadata_keys.ts"

const migrations = {
  "0001_index": index,
  "0002_postings": postings,
  "0003_codes": codes,
  "0004_runs": runs,
  "0005_file_mark": fileMark,
  "0006_rebuilds": rebuilds,
  "0007_files": files,
  "0008_graph": graph,
  "0009_names": names,
  "0010_checksums": checksums,
  "0011_locators": locators,
  "0012_digests": digests,
  "0013_table_headers": tableHeaders,
  "0014_contents": contents,
  "0015_linkages": linkages,
  "0016_graph_answers": graphAnswers,
  "0017_languages": languages,
  "0018_metadata_keys": metadataKeys
}

/** The schema this program writes, kept in the database's `user_version`. */
export const schemaVersion = Object.keys(migrations).length

/** Brings a database up to `schemaVersion`. */
export const migrate = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "clew_migrations" })
