import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SearchResponse, toSearchResult } from "../model/SearchResult.ts"
import { besides, Search, shortfall } from "../Search.ts"
import * as asking from "./asking.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { printJson } from "./output.ts"
import { Place } from "./place.ts"
import { renderFiles, renderHits } from "./hits.ts"
import { Terminal } from "./terminal.ts"

const Explained = Schema.Struct({ rank: Schema.Int, score: Schema.Finite })

/** What `query --json` prints: the body of POST /query; with `--explain`, each leg's rank and score beside every result. */
export const QueryReport = Schema.Struct({
  ...SearchResponse.fields,
  results: Schema.Array(
    Schema.Struct({
      ...SearchResponse.fields.results.value.fields,
      explain: Schema.optional(
        Schema.Struct({ vector: Schema.optional(Explained), keyword: Schema.optional(Explained) })
      )
    })
  )
}).annotations({ identifier: "QueryReport" })

export const query = define(
  {
    name: "query",
    summary: "Find passages",
    positional: asking.positional,
    flags: { ...asking.flags, explain: options.explain, files: options.files },
    examples: [
      "clew query how are passages ranked",
      "clew query -k 20 --files tides | xargs -d '\\n' wc -l",
      "clew query -k 10 --filter 'source=docs/*' \"C++\"",
      "clew query --filter 'year>=2020' --filter lang=en,de --json tides | jq .results"
    ],
    details: ["Exits with 3 where nothing is found."]
  },
  (flags, words) =>
    Effect.gen(function* () {
      const { globals } = yield* Place
      const { note, print } = yield* Terminal
      const request = yield* asking.requestOf("clew query", flags, words)
      const text = request.query
      const engine = yield* Engine
      const { alsoSearched, degraded, fusion, hint, hits, mode, queryTimeMs } = yield* Effect.flatMap(
        Search,
        (search) => search.run(request)
      ).pipe(Effect.provide(engine.open("read")))

      if (globals.json) {
        yield* printJson(QueryReport, {
          results: hits.map((hit) => ({
            ...toSearchResult(hit),
            ...(flags.explain ? { explain: { vector: hit.vector, keyword: hit.keyword } } : {})
          })),
          query_time_ms: queryTimeMs,
          mode,
          ...(fusion === undefined ? {} : { fusion }),
          ...(degraded === undefined ? {} : { degraded }),
          ...(alsoSearched === undefined ? {} : { also_searched: alsoSearched }),
          ...(hint === undefined ? {} : { hint })
        })
      } else if (hits.length > 0) {
        yield* print(yield* flags.files ? renderFiles(hits) : renderHits(hits, text, flags.explain))
      }
      if (degraded !== undefined && !globals.json) yield* note(`clew: ${shortfall({ degraded, mode })}`)
      if (alsoSearched !== undefined && !globals.json) yield* note(`clew: ${besides({ alsoSearched })}`)
      if (hits.length === 0) {
        if (!globals.json) yield* note(`clew: nothing found${hint === undefined ? "" : `: ${hint}`}`)
        return yield* stop(exitCode.nothingFound)
      }
    })
)
