import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import { randomUUID } from "node:crypto"
import { Api } from "../api/Api.ts"
import { JobNotFound, JobsBusy } from "../api/errors.ts"
import type { Job } from "../api/Jobs.ts"
import { type Caller, current, mustHave } from "../Caller.ts"
import { makeTurns } from "../runtime/Turn.ts"
import { named } from "../runtime/Unhandled.ts"
import { Access } from "./Access.ts"
import { event, eventStream } from "./events.ts"
import { type Audit, makeAudit } from "./audit.ts"
import { errorOf, failed, idOf } from "./respond.ts"

type Progress = NonNullable<Job["progress"]>

/** Tells how far work has come. */
export type Told = (progress: Progress) => Effect.Effect<void>

/** What a request asks for; a job was promised to the client, and waits for its turn. */
type Performed<A, E, R> = (told: Told, isJob: boolean) => Effect.Effect<A, E, R>

export interface Work {
  readonly kind: Job["kind"]
  readonly collection?: string | undefined
  /** What is done once the work has ended, also if it never began. */
  readonly release?: Effect.Effect<void>
}

interface Entry {
  job: Job
  readonly caller: Caller
  /** Says that the job has changed; whoever is slow hears of it once. */
  readonly changes: PubSub.PubSub<void>
  fiber: Fiber.RuntimeFiber<unknown> | undefined
}

/** How many run at once, how many run or wait, and how many that ended are kept, for how long. */
const bounds = { running: 4, waiting: 16, kept: 100, keptMs: Duration.toMillis("1 hour") }

/** At least this long is between two events of a job. */
const pace = Duration.millis(100)

const isEnded = ({ state }: Job): boolean => state !== "queued" && state !== "running"

/** Whether a request says `Prefer: respond-async`. */
const wantsJob = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  (headers["prefer"] ?? "")
    .slice(0, 1000)
    .split(",")
    .some((preference) => preference.split(";")[0]!.trim().toLowerCase() === "respond-async")

/** Long work of the server, each in a fiber that ends with it. */
export class Jobs extends Effect.Service<Jobs>()("clew/http/Jobs", {
  scoped: Effect.gen(function* () {
    const scope = yield* Effect.scope
    const audit: Audit = yield* makeAudit
    const turns = makeTurns(bounds.running)
    /** The oldest first. */
    const entries = new Map<string, Entry>()

    const forgetOld = Effect.map(Clock.currentTimeMillis, (now) => {
      const ended = [...entries.values()].filter(({ job }) => isEnded(job))
      const surplus = ended.length - bounds.kept
      ended.forEach(({ job }, at) => {
        if (at < surplus || now - (job.ended_at ?? now) > bounds.keptMs) entries.delete(job.id)
      })
    })

    const change = (entry: Entry, changed: Partial<Job>) =>
      Effect.suspend(() => {
        entry.job = { ...entry.job, ...changed }
        return Effect.asVoid(PubSub.publish(entry.changes, undefined))
      })

    const end = (entry: Entry, exit: Exit.Exit<NonNullable<Job["result"]>, unknown>, requestId: string) =>
      Effect.gen(function* () {
        const outcome: Partial<Job> =
          exit._tag === "Success"
            ? { state: "done", result: exit.value }
            : Option.isNone(errorOf(exit.cause))
              ? { state: "cancelled" }
              : {
                  state: "failed",
                  error: (yield* failed(exit.cause, requestId, `Job ${entry.job.kind} ${entry.job.id}`)).body
                }
        yield* change(entry, { ...outcome, ended_at: yield* Clock.currentTimeMillis })
      })

    let received = 0
    const roomBeside = (others: number) =>
      turns.size() + others >= bounds.waiting ? new JobsBusy({ limit: bounds.waiting }) : Effect.void
    const room = Effect.suspend(() => roomBeside(0))

    /** In its turn, but for POST /index, which has its own. */
    const waiting = <A, E, R>({ kind }: Work, work: Effect.Effect<A, E, R>) =>
      kind === "index" ? work : Effect.zipRight(room, turns.urgent(work))

    const begin = Effect.fnUntraced(function* <A extends NonNullable<Job["result"]>, E, R>(
      { collection, kind, release = Effect.void }: Work,
      requestId: string,
      work: Performed<A, E, R>
    ) {
      yield* forgetOld
      const caller = yield* FiberRef.get(current)
      const id = randomUUID()
      const job: Job = {
        id,
        kind,
        state: "queued",
        created_at: yield* Clock.currentTimeMillis,
        by: caller.name,
        collection
      }
      const entry: Entry = { job, caller, changes: yield* PubSub.sliding<void>(1), fiber: undefined }
      entries.set(id, entry)
      const started = Effect.flatMap(Clock.currentTimeMillis, (now) =>
        change(entry, { state: "running", started_at: now })
      )
      const running = turns
        .urgent(
          Effect.zipRight(
            started,
            work((progress) => change(entry, { progress }), true)
          )
        )
        .pipe(
          audit(kind, { collection, job: id }),
          Effect.interruptible,
          Effect.onExit((exit) => Effect.zipRight(release, end(entry, exit, requestId)))
        )
      // Uninterruptible at first, so that its end is told even if it ends before it begins.
      entry.fiber = yield* Effect.forkIn(Effect.exit(named(`job ${kind} ${id}`, running)), scope)
      return entry.job
    }, Effect.uninterruptible)

    /** A job that the caller may see. */
    const find = (id: string) =>
      Effect.flatMap(FiberRef.get(current), (caller) => {
        const entry = entries.get(id)
        return entry !== undefined && isSeen(caller, entry.job)
          ? Effect.succeed([entry, caller] as const)
          : new JobNotFound({ id: id.slice(0, 100) })
      })

    /** Without a collection, it may be of any. */
    const isSeen = ({ collections }: Caller, { collection }: Job): boolean =>
      collections === undefined || (collection !== undefined && collections.has(collection))

    return {
      /** Receives the files of a job if one may be added beside those that are received: each takes that much of the disk. */
      receive: <A, E, R>(files: Effect.Effect<A, E, R>): Effect.Effect<A, E | JobsBusy, R> =>
        Effect.acquireUseRelease(
          Effect.suspend(() => Effect.map(roomBeside(received), () => void received++)),
          () => files,
          () => Effect.sync(() => void received--)
        ),

      /**
       * Answers a request when its work is done, or at once with a job that does it, if the client prefers that. What a
       * job has stored stays when it is cancelled. Both take turns: few run at once, and only some may wait.
       */
      answer: <A extends NonNullable<Job["result"]>, E, R>(
        request: HttpServerRequest.HttpServerRequest,
        about: Work,
        work: Performed<A, E, R>
      ): Effect.Effect<A | HttpServerResponse.HttpServerResponse, E | JobsBusy, R> =>
        wantsJob(request)
          ? Effect.onError(
              Effect.zipRight(
                room,
                Effect.map(begin(about, idOf(request), work), (job) =>
                  HttpServerResponse.unsafeJson(job, {
                    status: 202,
                    headers: { location: `/jobs/${job.id}`, "preference-applied": "respond-async" }
                  })
                )
              ),
              () => about.release ?? Effect.void
            )
          : Effect.ensuring(
              waiting(
                about,
                work(() => Effect.void, false)
              ).pipe(audit(about.kind, { collection: about.collection }), Effect.interruptible),
              about.release ?? Effect.void
            ),

      /** The newest first, of those that the caller may see. */
      list: Effect.zipRight(
        forgetOld,
        Effect.map(FiberRef.get(current), (caller) =>
          [...entries.values()]
            .map(({ job }) => job)
            .filter((job) => isSeen(caller, job))
            .toReversed()
        )
      ),

      get: (id: string) => Effect.map(find(id), ([{ job }]) => job),

      /** Writes each state of a job as an event until it has ended. */
      follow: (id: string) =>
        Effect.map(
          find(id),
          ([entry]) =>
            (emit: (text: string) => Effect.Effect<void>): Effect.Effect<void> =>
              Effect.scoped(
                Effect.gen(function* () {
                  const changes = yield* PubSub.subscribe(entry.changes)
                  for (;;) {
                    const { job } = entry
                    yield* emit(event(isEnded(job) ? job.state : "progress", JSON.stringify(job)))
                    if (isEnded(job)) return
                    yield* Queue.take(changes)
                    if (!isEnded(entry.job)) yield* Effect.sleep(pace)
                  }
                })
              )
        ),

      /** Stops a job at a safe point, and waits until it has. */
      cancel: Effect.fnUntraced(function* (id: string) {
        const [entry, caller] = yield* find(id)
        if (entry.caller.name !== caller.name) yield* mustHave(caller, "admin")
        if (!isEnded(entry.job) && entry.fiber !== undefined) yield* Fiber.interrupt(entry.fiber)
        return entry.job
      })
    }
  })
}) {}

export const layer = HttpApiBuilder.group(Api, "jobs", (handlers) =>
  Effect.gen(function* () {
    const { cancel, follow, get, list } = yield* Jobs
    const { revoked } = yield* Access
    return handlers
      .handle("listJobs", () => Effect.map(list, (jobs) => ({ jobs })))
      .handle("getJob", ({ path: { id }, request }) =>
        (request.headers["accept"] ?? "").includes("text/event-stream")
          ? Effect.zipWith(follow(id), revoked, (write, ended) =>
              eventStream((emit) => Effect.raceFirst(write(emit), ended))
            )
          : get(id)
      )
      .handle("cancelJob", ({ path: { id } }) => cancel(id))
  })
)
