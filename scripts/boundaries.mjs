// Which files may import which. `npm run check` writes this table into .oxlintrc.json, and the linter enforces it;
// test/house.test.ts tries each line.
import { readFileSync, writeFileSync } from "node:fs"
import { posix } from "node:path"
import { fileURLToPath } from "node:url"

/** Rooms of pure functions, and what each may import of the others. Their subfolders are their own affair. */
const pure = {
  "terms/": [],
  "tokenizer/": [],
  "entries/": [],
  "chunking/": ["entries/*.ts"],
  "entities/": ["terms/*.ts"],
  "citations/": ["terms/*.ts", "chunking/*.ts"]
}
/** The packages that they import; all others import none but effect. */
const packages = {
  "terms/": ["npm:porter2", "npm:@orama/stemmers/**"],
  "tokenizer/": ["npm:node:v8", "npm:node:vm"],
  "citations/": ["npm:porter2", "npm:@orama/stemmers/**"]
}
const words = ["model/", ...Object.keys(pure).map((room) => `${room}*.ts`)]
/** Ports that others may import for their errors. */
const ports = ["Embedder.ts", "Embedders.ts", "Llm.ts", "Reranker.ts", "Store.ts", "version.ts"].concat(
  "files/Loader.ts"
)
const useCases = ["*.ts", "!App.ts", "!Configured.ts", "!bin.ts", "!index.ts", "!client.ts"]
/** What others may import of the rooms: their services, not their parts. */
const rooms = ["files/*.ts", "measuring/*.ts", "upkeep/*.ts", "packaged/*.ts", "runtime/"]
const doors = [...useCases, ...rooms, "api/", ...words]
/** How judged results are scored: functions that import nothing. */
const figures = ["measuring/evaluation.ts", "measuring/grading.ts"]
const database = "@effect/|better-sqlite3|sqlite-vec"
const vendors = "@effect/(sql|cli|platform-node)|@modelcontextprotocol/|better-sqlite3|sqlite-vec|ollama"

/**
 * A place is a folder with everything below it, the files of a folder (`*.ts`), or a file. Imports within a folder are
 * always allowed. If several lines match a file, the last wins.
 */
const table = [
  { places: ["model/"], may: ["model/", "effect/"], only: true },
  // Errors have their status.
  { places: ["model/fault.ts"], may: ["npm:@effect/platform/HttpApiSchema", "effect/"], only: true },
  ...Object.entries(pure).map(([room, others]) => ({
    places: [room],
    may: ["model/", room, ...others, "effect/", ...(packages[room] ?? [])],
    only: true
  })),
  // Extraction of documents is a package of its own: bytes in, Markdown with marks out.
  {
    places: ["extraction/"],
    may: "extraction/ csv-parse/sync fflate fzstd hucre node:path node:zlib parse5 postal-mime saxes unpdf word-extractor/lib/*"
      .split(" ")
      .map((name, i) => (i === 0 ? name : `npm:${name}`)),
    only: true
  },
  { places: ["*.ts"], may: [...useCases, "runtime/", "packaged/Tokenizer.ts", ...words], not: vendors },
  { places: ["Embedder.ts", "Llm.ts", "Reranker.ts"], may: ["model/"], not: vendors },
  { places: ["Store.ts"], may: ["Store/port/", "model/"], not: vendors },
  { places: ["OpenIndex.ts"], may: [...useCases, ...rooms], not: vendors },
  { places: ["Config.ts"], may: ["Config/", "model/"], not: vendors },
  {
    places: ["App.ts", "App/", "Configured.ts", "index.ts"],
    may: ["*", "!cli/", "!http/", "!mcp/", "!bin.ts", "!client.ts"]
  },
  { places: ["client.ts"], may: ["api/", "model/"] },
  { places: ["bin.ts"], may: ["cli/", "mcp/meeting.ts"] },
  ...["Answer", "Chunker", "Graph", "Indexer", "Prompt", "Search"].flatMap((name) => [
    {
      places: [`${name}.ts`],
      may: [...useCases, `${name}/`, "ranking/*.ts", "runtime/", "packaged/Tokenizer.ts", ...words],
      not: vendors
    },
    {
      places: [`${name}/`],
      may: [...useCases, "ranking/*.ts", "runtime/", "packaged/Tokenizer.ts", ...words],
      not: vendors
    }
  ]),

  // Engines do not know where their bytes are stored.
  { places: ["codes/", "postings/"], may: ["runtime/", ...words], not: database },

  // Ranking of hits from any store.
  { places: ["ranking/"], may: ["runtime/", ...words], not: database },

  // Implementations.
  { places: ["Config/"], may: ["Config.ts", ...words] },
  {
    places: ["Embedder/"],
    may: ["Embedder.ts", "Embedders.ts", "Config.ts", "packaged/", "onnx/*.ts", "runtime/", "vendors/", ...words]
  },
  { places: ["Llm/"], may: ["Llm.ts", "Config.ts", "runtime/", "vendors/", ...words] },
  { places: ["Reranker/"], may: ["Reranker.ts", "Config.ts", "onnx/*.ts", "vendors/", ...words] },
  { places: ["Store/"], may: ["Store.ts", "codes/", "postings/", "ranking/", "runtime/", ...words] },
  // What every store does with what it has read.
  { places: ["Store/core/"], may: ["Store.ts", "Store/crc.ts", "ranking/", "runtime/", ...words], not: database },
  {
    places: ["Store/opensearch/"],
    may: ["Store.ts", "Store/core/", "codes/", "postings/", "ranking/", "runtime/", ...words],
    not: database
  },
  { places: ["Store/port/"], may: ["model/"], not: vendors },
  { places: ["packaged/"], may: ["Embedder.ts", "runtime/", ...words], not: vendors },
  { places: ["onnx/"], may: ["packaged/model2vec/safetensors.ts", "runtime/", ...words], not: vendors },
  { places: ["vendors/"], may: ["Config.ts", "model/"] },
  { places: ["runtime/"], may: [], not: vendors },

  // Rooms of use cases, each with its ports and their implementations.
  { places: ["files/"], may: [...useCases, "runtime/", ...words], not: vendors },
  {
    places: ["files/Loader/"],
    may: ["files/Loader.ts", "files/Disk.ts", "files/below.ts", "extraction/*.ts", "Config.ts", "runtime/", ...words]
  },
  { places: ["files/FileEvents/"], may: ["files/FileEvents.ts", "files/Walker/folder.ts", ...words] },
  { places: ["files/WatchLock/"], may: ["files/WatchLock.ts", "Store.ts", ...words] },
  { places: ["measuring/", "upkeep/"], may: [...useCases, ...rooms, ...words], not: vendors },

  // Doors.
  { places: ["api/"], may: [...ports, "model/"], not: vendors },
  { places: ["http/", "mcp/", "cli/"], may: doors },
  { places: ["http/mcp.ts"], may: [...doors, "mcp/"] },
  { places: ["cli/engine.ts", "cli/served.ts"], may: [...doors, "mcp/meeting.ts"] },
  { places: ["cli/listen.ts"], may: [...doors, "http/"] },
  { places: ["cli/mcp.ts", "cli/mcp/"], may: [...doors, "cli/", "http/", "mcp/"] },
  { places: ["cli/index.ts"], may: [...doors, "App.ts", "App/reading.ts", "Configured.ts", "mcp/meeting.ts"] },

  // The page in the browser, which imports all others of `typed` as types alone.
  {
    places: ["console/"],
    may: ["npm:preact", "npm:preact/hooks", "npm:eventsource-parser/stream", ...figures],
    only: true,
    files: "*.{ts,tsx}",
    typed: ["api/", "model/", ...figures]
  }
]

/** Most levels of folders in a room. */
const deepest = 3

const relative = (from, to) => {
  const path = posix.relative(from || ".", to.replace(/\/$/, ""))
  return `${path.startsWith(".") ? path : `./${path}`}${to.endsWith("/") ? "/**" : ""}`
}

/** A regex, which has no look-ahead here, for what begins like none of these names. */
const otherThan = (names) =>
  [...new Set(names.flatMap((name) => [...name].map((_, at) => name.slice(0, at))))]
    .map((begun) => {
      const next = names.flatMap((name) => (name.startsWith(begun) ? name[begun.length] : []))
      return `${begun}[^${begun === "" ? "." : ""}${next.join("")}]`
    })
    .join("|")

/** One group, since the last matching pattern in a group wins, and a pattern with ! silences the line's other groups too. */
const override = (files, folder, up, { may, not, only, place, typed }) => {
  const from = posix.join(folder, ...Array.from({ length: up }, () => "x"))
  const outside =
    folder === "" ? "./**" : `${"../".repeat(up + (place.endsWith("/") ? 1 : folder.split("/").length))}**`
  const patterns = may.flatMap((entry) => {
    const isDenied = entry.startsWith("!")
    const name = isDenied ? entry.slice(1) : entry
    if (name === place && name.endsWith("/")) return []
    if (name === "effect/") return [only ? "!effect/**" : ""]
    if (name.startsWith("npm:")) return [`!${name.slice(4)}`]
    if (name === "*") return [`!${outside}`]
    return `${isDenied ? "" : "!"}${relative(from, name)}`
  })
  const group = only
    ? [
        "**",
        "!./**",
        ...Array.from({ length: up }, (_, i) => `!${"../".repeat(i + 1)}**`),
        ...(up > 0 ? [outside] : []),
        ...patterns,
        ...services
      ]
    : [outside, ...patterns]
  const message = `${place} may import ${may.filter((name) => !name.startsWith("!")).join(", ") || "nothing of src"}`
  const rules = [{ group, message }]
  if (not !== undefined) rules.push({ regex: `^(${not})`, message: `${place} knows no vendor` })
  // What this group lets through for the sake of types, the next one refuses if it is of elsewhere.
  if (typed !== undefined) {
    rules[0].allowTypeImports = true
    rules.push({
      regex: `^(?:\\.\\./)+(?:${otherThan(typed)})`,
      message: `${place} imports types of ${typed.join(", ")} alone`
    })
  }
  return { files: [files], rules: { "no-restricted-imports": ["error", { patterns: rules }] } }
}

const services = ["effect/Context", "effect/Layer", "effect/ManagedRuntime", "effect/Runtime"]

const overrides = table.flatMap(({ places, ...line }) =>
  places.flatMap((place) => {
    if (!place.endsWith("/")) {
      const folder = posix.dirname(place) === "." ? "" : posix.dirname(place)
      return [override(`src/${place}`, folder, 0, { ...line, place })]
    }
    const folder = place.slice(0, -1)
    return Array.from({ length: deepest + 1 }, (_, up) =>
      override(`src/${folder}/${"*/".repeat(up)}${line.files ?? "*.ts"}`, folder, up, { ...line, place })
    )
  })
)

const file = fileURLToPath(new URL("../.oxlintrc.json", import.meta.url))
const [begin, end] = ["    // Written by scripts/boundaries.mjs, from its table.\n", "    // End of what is written.\n"]

/** The linter's configuration including the table. */
export const configuration = () => {
  const text = readFileSync(file, "utf8")
  const lines = overrides.map((line) => `    ${JSON.stringify(line)}`).join(",\n")
  return `${text.slice(0, text.indexOf(begin))}${begin}${lines}\n${text.slice(text.indexOf(end))}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const next = configuration()
  if (next !== readFileSync(file, "utf8")) writeFileSync(file, next)
}
