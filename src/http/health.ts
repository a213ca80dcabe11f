import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Answer } from "../Answer.ts"
import { Api } from "../api/Api.ts"
import type { HealthReport, WhoamiResponse } from "../api/Health.ts"
import type { Check as Readiness } from "../api/System.ts"
import { Watcher } from "../files/Watcher.ts"
import { type Check, fail, ok, warn } from "../model/Check.ts"
import { type CollectionSummary, describeEmbedder } from "../model/Collection.ts"
import { rights } from "../model/Key.ts"
import type { Watching } from "../model/Stats.ts"
import { Reranker } from "../Reranker.ts"
import { Search } from "../Search.ts"
import { Store } from "../Store.ts"
import { Access } from "./Access.ts"
import { shownLlm } from "./ask.ts"
import { withoutFolders } from "./documents.ts"
import { Jobs } from "./Jobs.ts"
import { stageTimes } from "./metrics.ts"
import { withoutInside } from "./respond.ts"
import { makeState } from "./system.ts"

const advice = {
  store: "run `clew doctor`",
  embedder: "start the embedder, or set [embedding] in the configuration; until then searches go by words",
  reranker: 'until then results stay in the order of the search; rerank.backend = "none" does without it'
} as const

const ofPart = (name: keyof typeof advice, state: Readiness): Check =>
  state.status === "ok" ? ok(name, "answers") : fail(name, state.reason, advice[name])

const ofCollection = ({ embedder, name, next, passages }: CollectionSummary) => [
  next &&
    warn(
      "embedder",
      `collection ${name}: ${next.embedder.model} has made ${next.done} of ${passages} vectors; until it has made all, searches use the old ones`,
      `POST /collections/${name}/reindex goes on with it`
    ),
  embedder.making === undefined
    ? undefined
    : warn(
        "embedder",
        `collection ${name}: its vectors, of ${describeEmbedder(embedder)}, are made as an older Clew made them`,
        `POST /collections/${name}/reindex makes all of them as they are made now`
      )
]

const ofWatching = ({ failed, held, state }: Watching) => [
  held.length === 0
    ? undefined
    : warn(
        "watch",
        `${held.join(", ")}: missing, or more than half of the files are gone, so that no document was removed`,
        "if that is meant, run `clew update --prune`"
      ),
  failed === 0
    ? undefined
    : warn(
        "watch",
        `${failed} ${failed === 1 ? "file" : "files"} could not be read or indexed`,
        "the log of the server names them"
      ),
  state === "polling"
    ? warn(
        "watch",
        "the system reports no changes, so files are scanned at intervals",
        "the log of the server says why"
      )
    : undefined
]

export const layer = HttpApiBuilder.group(Api, "health", (handlers) =>
  Effect.gen(function* () {
    const access = yield* Access
    const answer = yield* Answer
    const reranks = yield* Effect.serviceOption(Reranker)
    const jobs = yield* Jobs
    const search = yield* Search
    const store = yield* Store
    const watcher = yield* Watcher
    const { checks, stats } = yield* makeState

    const report = Effect.gen(function* () {
      const { embedder, reranker, store: index } = yield* checks
      const watched = Option.toArray(yield* watcher.status)
      const found = [
        ofPart("store", index),
        ofPart("embedder", embedder),
        reranker && ofPart("reranker", reranker),
        ...(yield* store.collections).map(withoutFolders).flatMap(ofCollection),
        ...watched.flatMap(ofWatching),
        access.isKeyless()
          ? warn("access", "the server needs no key", "set SERVICE_API_KEY, or make keys with `clew keys new`")
          : undefined
      ].filter((check) => check !== undefined)
      return {
        stats: yield* stats(undefined),
        llm: shownLlm((yield* answer.models).used),
        reranker: Option.getOrUndefined(reranks)?.name,
        watched,
        jobs: yield* jobs.list,
        stages: yield* stageTimes,
        slow: yield* search.slow,
        checks: found.map(({ next, ...check }) => ({ ...check, detail: withoutInside(check.detail), fix: next }))
      } satisfies HealthReport
    })

    return handlers
      .handle("whoami", () =>
        Effect.map(access.whoami, ({ authenticated, caller }): WhoamiResponse => ({
          ...(caller?.name === undefined ? {} : { name: caller.name }),
          rights: rights.filter((right) => caller?.rights.has(right)),
          ...(caller?.collections === undefined ? {} : { collections: [...caller.collections] }),
          authenticated,
          read_only: access.readOnly
        }))
      )
      .handle("report", () => report)
  })
)
