import * as Effect from "effect/Effect"
import { toProvenance } from "../model/Provenance.ts"
import { SearchResponse, toSearchResult } from "../model/SearchResult.ts"
import { Search } from "../Search.ts"
import * as asking from "./asking.ts"
import { define } from "./command.ts"
import { renderExplanation } from "./explanation.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { printJson } from "./output.ts"
import { Place } from "./place.ts"
import { renderFiles, renderHits } from "./hits.ts"
import { remarksOn } from "./remarks.ts"
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
      const found = yield* Effect.flatMap(Search, (search) => search.run({ ...request, explain: flags.explain })).pipe(
        Effect.provide(engine.open("read"))
      )
      const { explain, hint, hits, queryTimeMs, readAs, weak } = found

      if (globals.json) {
        yield* printJson(QueryReport, {
          results: hits.map(toSearchResult),
          query_time_ms: queryTimeMs,
          ...toProvenance(found),
          ...(explain === undefined ? {} : { explain })
        })
      } else if (hits.length > 0) {
        yield* print(yield* flags.files ? renderFiles(hits) : renderHits(hits, readAs?.words ?? text))
        if (explain !== undefined) yield* print(`\n${renderExplanation(explain, out)}`)
      }
      if (!globals.json) for (const remark of remarksOn(found)) yield* note(`clew: ${remark}`)
      if (hits.length === 0) {
        if (!globals.json) yield* note(`clew: nothing found${hint === undefined ? "" : `: ${hint}`}`)
        return yield* stop(exitCode.nothingFound)
      }
      if (weak === true) return yield* stop(exitCode.nothingFound)
    })
)
