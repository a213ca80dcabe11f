import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { DocumentId } from "../model/Document.ts"
import { limits } from "../model/Limits.ts"
import { Fusion } from "../model/Query.ts"
import * as Flag from "./flag.ts"

const collectionRule = "1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit"

/** A collection's name, or what would be allowed. */
export const decodeCollection: Flag.Decode<CollectionName> = (text) =>
  Either.mapLeft(Schema.decodeUnknownEither(CollectionName)(text), () => collectionRule)

const decodeDocumentId: Flag.Decode<DocumentId> = (text) =>
  Either.mapLeft(Schema.decodeUnknownEither(DocumentId)(text), () => "1 to 1000 characters without blanks around them")

/** Understood by every command, before and after its name. */
export const globalFlags = {
  config: Flag.file("config", { value: "FILE", summary: "Configuration file (default: ./clew.toml, then the user's)" }),
  db: Flag.file("db", { value: "FILE", summary: "Index to work on" }),
  json: Flag.toggle("json", { summary: "Print the result as JSON" })
} as const

/** Flags that @effect/cli provides. */
export const builtIns = {
  logLevel: {
    name: "log-level",
    value: "LEVEL",
    choices: ["all", "trace", "debug", "info", "warning", "error", "fatal", "none"],
    summary: "The lowest level that is logged"
  },
  help: { name: "help", alias: "h", summary: "Show this help" },
  version: { name: "version", alias: "V", summary: "Show the version" },
  completions: {
    name: "completions",
    value: "SHELL",
    choices: ["bash", "fish", "zsh"],
    summary: "Print a script that completes commands and flags in a shell"
  }
} as const satisfies Record<string, Flag.FlagInfo>

/** Understood everywhere, in the order help shows them. */
export const everywhere: ReadonlyArray<Flag.FlagInfo> = [...Object.values(globalFlags), ...Object.values(builtIns)]

export const searchedCollection = Flag.text("collection", {
  alias: "c",
  value: "NAME",
  summary: "Search only this collection (default: all)",
  decode: decodeCollection
})

export const collection = Flag.text("collection", {
  alias: "c",
  value: "NAME",
  summary: "Collection to work on (default: default)",
  decode: decodeCollection
})

export const watch = Flag.repeated("watch", {
  value: "PATH",
  summary: "Index this file or folder and follow its changes while serving (default: watch.paths)"
})

export const topK = Flag.number("top-k", {
  alias: "k",
  value: "N",
  summary: "Passages to show (default: search.top_k, which is 5)",
  ...limits.topK,
  whole: true
})

export const hybrid = Flag.either("hybrid", {
  summary: "Fuse search by words and by meaning (default)",
  negation: "no-hybrid",
  negated: "Search by meaning only"
})

export const alpha = Flag.number("alpha", {
  value: "WEIGHT",
  summary: "Weight of meaning against words: 0 is only words, 1 only meaning",
  ...limits.alpha
})

export const minRelevance = Flag.number("min-relevance", {
  value: "SHARE",
  summary: "Leave out passages less likely than this to answer, 0 to 1",
  ...limits.minRelevance
})

export const fusion = Flag.choice("fusion", {
  choices: Fusion.literals,
  summary: "Fuse the ranks of both searches (rrf) or their scores (score)"
})

/** Whether a search uses the graph. */
export const graph = Flag.choice("graph", {
  choices: ["true", "false", "auto"],
  summary:
    "Fill ranks from the sixth on with passages that the knowledge graph joins to the best (default: search.graph, which is auto)"
})

export const filter = Flag.repeated("filter", {
  alias: "f",
  value: "KEY=VALUE",
  summary: "Search only documents whose metadata match; also >= <= > <, and KEY=A,B for any of"
})

export const explain = Flag.toggle("explain", {
  summary: "Show how each score was computed, and how long each stage took"
})

export const model = Flag.text("model", {
  alias: "m",
  value: "NAME",
  summary: "Model that answers, instead of the configured one"
})

export const temperature = Flag.number("temperature", {
  alias: "t",
  value: "X",
  summary: "Randomness of the answer; 0 gives nearly the same answer each time",
  ...limits.temperature
})

export const maxTokens = Flag.number("max-tokens", {
  value: "N",
  summary: "Longest prompt; the lowest ranks are left out to fit",
  ...limits.maxTokens,
  whole: true
})

export const include = Flag.repeated("include", { value: "GLOB", summary: "Index only matching files" })

export const exclude = Flag.repeated("exclude", { value: "GLOB", summary: "Skip matching files and folders" })

export const source = Flag.text("source", { value: "NAME", summary: "Source of the document on standard input" })

export const prune = Flag.toggle("prune", { summary: "Forget documents whose files are gone or now ignored" })

export const pruneAll = Flag.toggle("prune-all", {
  summary: "In the first scan, also forget paths that are missing or have lost most of their files"
})

export const rehash = Flag.toggle("rehash", {
  summary: "Read every file, even if its size and times are unchanged"
})

export const dryRun = Flag.toggle("dry-run", { alias: "n", summary: "Show what would be done, and do nothing" })

export const verbose = Flag.toggle("verbose", {
  alias: "v",
  summary: "Print a line for each document and skipped file"
})

export const quiet = Flag.toggle("quiet", { alias: "q", summary: "No progress and no summary" })

export const id = Flag.repeated("id", {
  value: "ID",
  summary: "Delete the document with this doc_id",
  decode: decodeDocumentId
})

export const yes = Flag.toggle("yes", { alias: "y", summary: "Do not ask" })

export const datasets = Flag.repeated("dataset", {
  value: "DIR",
  summary: "Folder in BEIR layout to measure quality with"
})

export const minNdcg = Flag.number("min-ndcg", {
  value: "X",
  summary: "Exit with 4 if the nDCG@10 of the configured hybrid search is lower",
  min: 0,
  max: 1
})

export const queries = Flag.number("queries", {
  value: "N",
  summary: "Queries to measure your own index with (default: 200)",
  min: 1,
  max: 100_000,
  whole: true
})

export const seed = Flag.number("seed", {
  value: "N",
  summary: "Seed that selects queries of the index, or samples of the judged ones (default: 1)",
  min: 0,
  max: 2 ** 31 - 1,
  whole: true
})

export const files = Flag.toggle("files", { alias: "l", summary: "List documents instead of passages, each once" })

export const judgementFile = Flag.file("judgements", {
  value: "FILE",
  summary: "File of judgements (default: store.judgements, or beside the index)"
})

export const pooled = Flag.number("top-k", {
  alias: "k",
  value: "N",
  summary: "Passages to take from each mode, 1 to 100 (default: 10)",
  ...limits.topK,
  whole: true
})

export const grades = Flag.repeated("grade", {
  value: "SOURCE=GRADE",
  summary: "Save a grade without asking; also SOURCE:FROM-TO=GRADE for lines"
})

export const fromDataset = Flag.text("from", {
  value: "DIR",
  summary: "Save the judgements of a dataset in BEIR layout"
})

export const gate = Flag.file("judgements", {
  value: "FILE",
  summary: "Measure your own index by these judgements"
})

export const against = Flag.file("against", {
  value: "FILE",
  summary: "Also measure with another configuration file, side by side"
})

export const baseline = Flag.file("baseline", {
  value: "FILE",
  summary: "Compare with the figures saved there; exit with 1 if they got worse"
})

export const save = Flag.toggle("save", { summary: "Save the figures as --baseline" })

export const tolerance = Flag.number("tolerance", {
  value: "X",
  summary: "How far the mean nDCG@10 may fall below the baseline (default: 0.01)",
  min: 0,
  max: 1
})
