import { Client } from "@opensearch-project/opensearch"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { readFileSync } from "node:fs"
import { StoreUnavailable } from "../../Store.ts"

/** A request that the cluster refused, or that did not reach it (`status` 0). `kind` is the cluster's or system's name. */
export class Failed extends Data.TaggedError("Failed")<{
  readonly status: number
  readonly kind: string
  readonly reason: string
}> {
  override get message() {
    return `${this.kind} (${this.status}): ${this.reason}`
  }
}

export interface ClusterOptions {
  readonly urls: ReadonlyArray<string>
  readonly username?: string | undefined
  readonly password?: Redacted.Redacted | undefined
  /** A file with the certificates of authorities to trust. */
  readonly ca?: string | undefined
  /** The longest wait for an answer. */
  readonly timeoutMs: number
}

type Json = Readonly<Record<string, unknown>>

interface Body {
  readonly body?: Json | undefined
  /** Lines of a bulk request, as JSON. */
  readonly lines?: ReadonlyArray<string> | undefined
  readonly query?: Readonly<Record<string, string | number | boolean>> | undefined
  /** It may be sent again although it may have been carried out; default: true. */
  readonly repeatable?: boolean | undefined
  /** What is wrong with an answer, of which the cluster says that all is well. */
  readonly fault?: ((answer: Answer) => Failed | undefined) | undefined
  /** Statuses that are answers. */
  readonly allow?: ReadonlyArray<number> | undefined
}

/** An answer, whose form its sender knows. */
// oxlint-disable-next-line no-explicit-any
export type Answer = any

export interface Requests {
  readonly send: (method: string, path: string, body?: Body) => Effect.Effect<Answer, Failed>
}

/** In all, longer than the election of a manager takes; short enough for somebody who waits. */
export const patience = Schedule.exponential(Duration.millis(50), 2).pipe(
  Schedule.union(Schedule.spaced(Duration.seconds(2))),
  Schedule.jittered,
  Schedule.upTo(Duration.seconds(30))
)

/** It was not carried out. */
const isUntouched = ({ kind, reason, status }: Failed): boolean =>
  (status === 429 && !/flood-stage|read-only/.test(reason)) || kind === "ECONNREFUSED"

/** A node that leaves the cluster in the middle of a request, of which the cluster speaks as of its own fault. */
const leaving = /disconnected|not_connected|closed|transport|shard_state|shard_not_found|search_context_missing/

const isPassing = (failed: Failed): boolean =>
  isUntouched(failed) ||
  (failed.status === 0 && !/CERT|TLS|SIGNATURE|EPROTO/.test(failed.kind)) ||
  ([404, 500].includes(failed.status) && (leaving.test(failed.kind) || failed.reason.endsWith("Node not connected"))) ||
  [502, 503, 504].includes(failed.status)

/** Whether to send a request again that failed so; if it is not repeatable, only if it was not carried out. */
export const isRepeated = (failed: Failed, repeatable: boolean): boolean =>
  repeatable ? isPassing(failed) : isUntouched(failed)

interface Refusal {
  readonly type?: string
  readonly reason?: string
  readonly index?: string
  readonly root_cause?: ReadonlyArray<Refusal>
  readonly caused_by?: Refusal
}

/** A refusal in an answer, with the reason that says most. */
export const refused = (status: number, error: Refusal | string | undefined): Failed => {
  if (typeof error === "string" || error === undefined) {
    return new Failed({ status, kind: "refused", reason: error ?? "no reason given" })
  }
  const [root = error] = error.root_cause ?? []
  const kind = root.type ?? error.type ?? "refused"
  // Of a closed index the cluster says "closed", and no more.
  if (kind === "index_closed_exception") return new Failed({ status, kind, reason: root.index ?? "PREFIX-*" })
  const reasons = [root.reason || error.reason, error.caused_by?.reason].filter(Boolean)
  return new Failed({ status, kind, reason: [...new Set(reasons)].join(": ") || kind })
}

interface ClientError {
  readonly name: string
  readonly message: string
  readonly statusCode?: number
  readonly meta?: {
    readonly body?: { readonly error?: Refusal | string } | string | null
    readonly statusCode?: number
  }
}

/** The system's name of what went wrong on the way, at the end of the client's message or in it. */
const systemCode = /\b(?:E[A-Z]{4,}(?:_[A-Z]+)*|[A-Z]+(?:_[A-Z]+)+)\b/

const failureOf = (error: ClientError): Failed => {
  const status = error.meta?.statusCode ?? 0
  const body = error.meta?.body
  if (error.name === "ResponseError") {
    return refused(status, typeof body === "object" && body !== null ? body.error : String(body ?? "").slice(0, 200))
  }
  const kind =
    systemCode.exec(error.message)?.[0] ?? (/self-signed|certificate/i.test(error.message) ? "CERT" : error.name)
  return new Failed({ status: 0, kind, reason: error.message })
}

/** A proxy may answer with a page of its own, as where somebody has to sign in. */
const answered = ({ body, statusCode }: { readonly body: unknown; readonly statusCode: number | null }) =>
  typeof body === "object" && body !== null
    ? Effect.succeed<Answer>(body)
    : Effect.fail(
        new Failed({
          status: statusCode ?? 0,
          kind: "page",
          reason: String(body).replaceAll(/\s+/g, " ").slice(0, 100)
        })
      )

/** Sends requests to the nodes of a cluster, by turns; one that does not answer is left out for a while. */
export const make = (options: ClusterOptions) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.try({
        try: () => {
          const { ca, password, timeoutMs, urls, username } = options
          return new Client({
            nodes: [...urls],
            maxRetries: 0,
            requestTimeout: timeoutMs,
            ...(username === undefined
              ? {}
              : { auth: { username, password: password === undefined ? "" : Redacted.value(password) } }),
            ...(ca === undefined ? {} : { ssl: { ca: readFileSync(ca) } })
          })
        },
        catch: (error) =>
          new StoreUnavailable({
            reason: `Cannot prepare connections to OpenSearch: ${error instanceof Error ? error.message : String(error)}`
          })
      }),
      (client) => Effect.promise(() => client.close())
    ),
    (client): Requests => ({
      send: (method, path, { allow = [], body, fault, lines, query, repeatable } = {}) => {
        const sent = Effect.async<Answer, Failed>((resume) => {
          const request = client.transport.request(
            {
              method,
              path,
              ...(query === undefined ? {} : { querystring: query }),
              ...(body === undefined ? {} : { body: JSON.stringify(body) }),
              ...(lines === undefined ? {} : { bulkBody: `${lines.join("\n")}\n` })
            } as never,
            { ignore: [...allow] },
            (error, result) => resume(error === null ? answered(result) : Effect.fail(failureOf(error as ClientError)))
          )
          return Effect.sync(() => request.abort())
        })
        const checked = Effect.flatMap(sent, (answer) => fault?.(answer) ?? Effect.succeed(answer))
        return Effect.retry(checked, { schedule: patience, while: (failed) => isRepeated(failed, repeatable ?? true) })
      }
    })
  )
