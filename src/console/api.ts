import type { EventSourceMessage } from "eventsource-parser"
import { EventSourceParserStream } from "eventsource-parser/stream"
import type { Job, Problem } from "./wire.ts"

const keyName = "clew.key"

/**
 * Where the server's addresses begin: below a proxy's path, as this script is itself. What begins with two slashes would be
 * another host, which would get the key.
 */
export const root = new URL("../..", import.meta.url).pathname.slice(0, -1).replace(/^\/+/, "/")

/** The key that the server asks for, kept for this tab alone. */
export const key = {
  get: (): string => sessionStorage.getItem(keyName) ?? "",
  set: (value: string): void => sessionStorage.setItem(keyName, value),
  forget: (): void => sessionStorage.removeItem(keyName)
}

/** What a call failed with. Status 0: the server did not answer. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly errors: NonNullable<Problem["errors"]> = []
  ) {
    super(detail)
  }
  /** The shell says so; what was loaded is loaded again when that is over. */
  get isAwaited(): boolean {
    return this.status === 0 || this.status === 401
  }
}

/** What else can fail is to read the answer. */
export const asFailure = (error: unknown): Failure =>
  error instanceof Failure ? error : new Failure(503, "The connection was lost; try again")

/** Told to the shell, which asks for the key, or says that the server is gone. */
export const locked = "clew:locked"
export const gone = "clew:gone"

const tell = (name: string, detail?: string): void => void window.dispatchEvent(new CustomEvent(name, { detail }))

interface Options {
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
}

const problemOf = async (response: Response): Promise<Failure> => {
  const problem = (await response.json().catch(() => undefined)) as Partial<Problem> | undefined
  const detail = typeof problem?.detail === "string" ? problem.detail : `The server answered ${response.status}`
  return new Failure(response.status, detail, problem?.errors)
}

/** Sends a request with the key; a Failure if it is refused, or nothing answers. */
export const send = async (
  method: string,
  path: string,
  { body, headers, signal }: Options = {}
): Promise<Response> => {
  const isForm = body instanceof FormData
  const secret = key.get()
  const unanswered = () => {
    tell(gone)
    return new Failure(0, "The server does not answer")
  }
  let response: Response
  try {
    response = await fetch(`${root}${path}`, {
      method,
      signal: signal ?? null,
      headers: {
        ...(secret === "" ? {} : { authorization: `Bearer ${secret}` }),
        ...(body === undefined || isForm ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) })
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw unanswered()
  }
  if (response.ok) return response
  // So a proxy says it; what Clew says is JSON.
  if ([502, 503].includes(response.status) && !/json/.test(response.headers.get("content-type") ?? ""))
    throw unanswered()
  const failure = await problemOf(response)
  // Another key may have been entered while this one was refused.
  if (failure.status === 401 && secret === key.get()) tell(locked, secret === "" ? undefined : failure.message)
  throw failure
}

export const call = async <A>(method: string, path: string, options?: Options): Promise<A> =>
  (await send(method, path, options)).json() as Promise<A>

/** Parameters by name; an empty one is none. */
export type Given = Readonly<Record<string, string | number | boolean | undefined>>

/** A query string of those that are given. */
export const query = (parameters: Given): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "")
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** Asks for a stream of events. */
export const inEvents = { accept: "text/event-stream" }

/** The events of a stream. */
export const eventsOf = async function* (response: Response): AsyncGenerator<EventSourceMessage> {
  const texts = response.body!.pipeThrough(new TextDecoderStream())
  const reader = texts.pipeThrough(new EventSourceParserStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

export const isOver = ({ state }: Job): boolean => state === "done" || state === "failed" || state === "cancelled"

/** Starts work that may take long: a job where the server has them, else its answer. */
export const begin = async <A>(
  path: string,
  body: unknown,
  onProgress: (job: Job) => void,
  signal?: AbortSignal
): Promise<A> => {
  const response = await send("POST", path, { body, signal, headers: { prefer: "respond-async" } })
  if (response.status !== 202) return (await response.json()) as A
  let job = (await response.json()) as Job
  onProgress(job)
  const address = `/jobs/${encodeURIComponent(job.id)}`
  for await (const { data } of eventsOf(await send("GET", address, { signal, headers: inEvents }))) {
    job = JSON.parse(data) as Job
    onProgress(job)
    if (isOver(job)) break
  }
  if (job.state === "done") return job.result as A
  const { detail, errors, status } = job.error ?? {
    status: 503,
    detail: job.state === "cancelled" ? "It was cancelled" : "It did not end"
  }
  throw new Failure(status, detail, errors)
}
