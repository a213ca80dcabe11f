import * as Effect from "effect/Effect"
import { Search } from "../Search.ts"
import { flags, requestOf } from "./asking.ts"
import * as Cli from "./command.ts"
import { theCited } from "./document.ts"
import { reading } from "./engine.ts"
import { usage } from "./exit.ts"
import { printFound } from "./query.ts"

const { graph: _, queries: __, ...searching } = flags

export const similar = Cli.define(
  {
    name: "similar",
    summary: "Find passages like one of the index, or like a text",
    positional: {
      name: "SOURCE:LINE",
      summary: "A passage as query shows it; a document of one passage needs no line",
      min: 0,
      max: 1,
      paths: true
    },
    flags: {
      ...searching,
      text: Cli.text("text", { value: "TEXT", summary: "Find passages like this text" }),
      files: Cli.toggle("files", { alias: "l", summary: "List documents instead of passages, each once" }),
      chunk: Cli.integer("chunk", {
        value: "N",
        summary: "The passage of the document by its index, from 0",
        min: 0,
        max: Number.MAX_SAFE_INTEGER
      })
    },
    examples: ["clew similar docs/tides.md:12", "clew similar -k 20 --files --text 'why the sea rises'"],
    details: [
      "Compares with the vector that the index has of the passage, and with its words. The passage itself and its copies are left out. Exits with 3 if there is no such passage, or nothing is like it."
    ]
  },
  function* (given, [place]) {
    const { chunk, files, text } = given
    if ((place === undefined) === (text === undefined)) {
      return yield* usage("give a passage, SOURCE:LINE, or a text, --text TEXT: one of them")
    }
    if (text !== undefined && chunk !== undefined)
      return yield* usage("--chunk names a passage of a document: leave it out with --text")
    const { query, ...request } = yield* requestOf(given, [text ?? place!])
    yield* reading(function* () {
      const named = place === undefined ? undefined : yield* theCited(place, given.collection)
      if (named?.cited !== undefined && chunk !== undefined) {
        return yield* usage(`${place} names a passage already: leave out --chunk`)
      }
      const found = yield* Effect.flatMap(Search, (search) =>
        search.similar({
          ...request,
          perDocument: files ? 1 : undefined,
          ...(named === undefined
            ? { text: query }
            : { docId: named.docId, home: named.collection, chunkIndex: chunk, cited: named.cited })
        })
      )
      yield* printFound(found, files, text ?? "")
    })
  }
)
