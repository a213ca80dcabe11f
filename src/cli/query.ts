import * as Effect from "effect/Effect"
import { SearchResponse, toSearchResult } from "../model/SearchResult.ts"
import { asRead, besides, Search, shortfall, weakOnly } from "../Search.ts"
import * as asking from "./asking.ts"
import { define } from "./command.ts"
import { renderExplanation } from "./explanation.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { printJson } from "./output.ts"
import { Place } from "./place.ts"
import { renderFiles, renderHits } from "./hits.ts"
import { Terminal } from "./terminal.ts"

/** What `query --json` prints: the body of POST /query. */
export const QueryReport = SearchResponse.annotations({ identifier: "QueryReport" })

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
    details: ["Exits with 3 if nothing is found, or only weak matches."]
  },
  (flags, words) =>
    Effect.gen(function* () {
      const { globals } = yield* Place
      const { note, out, print } = yield* Terminal
      const request = yield* asking.requestOf("clew query", flags, words)
      const text = request.query
      const engine = yield* Engine
      const { alsoSearched, degraded, explain, fusion, hint, hits, mode, queryTimeMs, readAs, weak } =
        yield* Effect.flatMap(Search, (search) => search.run({ ...request, explain: flags.explain })).pipe(
          Effect.provide(engine.open("read"))
        )

      if (globals.json) {
        yield* printJson(QueryReport, {
          results: hits.map(toSearchResult),
          query_time_ms: queryTimeMs,
          mode,
          ...(fusion === undefined ? {} : { fusion }),
          ...(degraded === undefined ? {} : { degraded }),
          ...(alsoSearched === undefined ? {} : { also_searched: alsoSearched }),
          ...(readAs === undefined ? {} : { read_as: readAs }),
          ...(weak === undefined ? {} : { weak }),
          ...(hint === undefined ? {} : { hint }),
          ...(explain === undefined ? {} : { explain })
        })
      } else if (hits.length > 0) {
        yield* print(yield* flags.files ? renderFiles(hits) : renderHits(hits, readAs?.words ?? text))
        if (explain !== undefined) yield* print(`\n${renderExplanation(explain, out)}`)
      }
      if (degraded !== undefined && !globals.json) yield* note(`clew: ${shortfall({ degraded, mode })}`)
      if (alsoSearched !== undefined && !globals.json) yield* note(`clew: ${besides({ alsoSearched })}`)
      if (readAs !== undefined && !globals.json) yield* note(`clew: ${asRead({ readAs })}`)
      if (hits.length === 0) {
        if (!globals.json) yield* note(`clew: nothing found${hint === undefined ? "" : `: ${hint}`}`)
        return yield* stop(exitCode.nothingFound)
      }
      if (weak === true) {
        if (!globals.json) yield* note(`clew: ${weakOnly}`)
        return yield* stop(exitCode.nothingFound)
      }
    })
)
