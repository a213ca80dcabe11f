import { type FailingDisk, type Failing, failings } from "./disk.ts"

interface Answer {
  readonly status: number
  readonly body: Record<string, any>
}

/** A client's action, with the document's expected state after it and before it. */
interface Deed {
  readonly name: string
  readonly prepare: (id: string) => Promise<unknown>
  readonly act: (id: string) => Promise<Answer>
  /** The document's content before and after; undefined if there is none. */
  readonly before: (id: string) => string | undefined
  readonly after: (id: string) => string | undefined
}

/** A document's text, with words that no other document has, for its old and its new content. */
const text = (id: string, word: string) =>
  Array.from({ length: 12 }, (_, line) => `${word}${id} stands in line ${line} of what is kept here.`).join("\n\n")

/** The server should never be silent for longer, in milliseconds. */
const patience = 30_000

/**
 * Lets one operation after another of a served index fail while a client writes to it, until an action needs no further
 * one. Returns what went wrong, one sentence each: crashes, hangs, plausible lies, lost acknowledged writes.
 */
export const serveFailing = async (
  url: string,
  disk: FailingDisk,
  { log = () => {}, step = 1 }: { readonly step?: number; readonly log?: (line: string) => void } = {}
): Promise<{ readonly trials: number; readonly failed: number; readonly wrong: ReadonlyArray<string> }> => {
  const wrong: Array<string> = []
  const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
    })
    return { status: response.status, body: (await response.json()) as Answer["body"] }
  }
  const put = (id: string, word: string) =>
    ask("POST", "/index", { documents: [{ doc_id: id, content: text(id, word) }] })
  const deeds: ReadonlyArray<Deed> = [
    {
      name: "a new document",
      prepare: async () => {},
      act: (id) => put(id, "new"),
      before: () => undefined,
      after: (id) => text(id, "new")
    },
    {
      name: "a document in another's place",
      prepare: (id) => put(id, "old"),
      act: (id) => put(id, "new"),
      before: (id) => text(id, "old"),
      after: (id) => text(id, "new")
    },
    {
      name: "a deletion",
      prepare: (id) => put(id, "old"),
      act: (id) => ask("DELETE", `/documents/${id}`),
      before: (id) => text(id, "old"),
      after: () => undefined
    }
  ]
  const kept = new Map<string, string | undefined>()
  const contentOf = async (id: string) => {
    const { body, status } = await ask("GET", `/documents/${id}`)
    return status === 404 ? undefined : (body["content"] as string)
  }
  const foundBy = async (word: string, id: string) => {
    const { body } = await ask("POST", "/query", { query: `${word}${id}`, alpha: 0, hybrid: true })
    const results = body["results"] as ReadonlyArray<{ readonly metadata: { readonly doc_id: string } }>
    return results.some(({ metadata }) => metadata.doc_id === id)
  }
  let [trials, failed] = [0, 0]
  const trial = async (deed: Deed, at: number, failing: Failing): Promise<boolean> => {
    const id = `d${++trials}`
    const what = `${deed.name}, ${failing.error}${failing.lasting ? " from" : " at"} operation ${at}`
    const say = (line: string) => wrong.push(`${what}: ${line}`)
    await deed.prepare(id)
    disk.arm(at, failing)
    const answer = await deed.act(id).catch((error: unknown) => ({ status: 0, body: { detail: String(error) } }))
    const had = disk.disarm()
    failed += had.failed
    if (answer.status !== 200 && (answer.status !== 503 || !/disk/.test(String(answer.body["detail"])))) {
      say(`answers ${answer.status} ${String(answer.body["detail"])}`)
    }
    const [before, after] = [deed.before(id), deed.after(id)]
    const now = await contentOf(id)
    if (now !== after && (answer.status === 200 || now !== before)) say(`is ${now === before ? "as before" : "a mix"}`)
    for (const word of ["old", "new"]) {
      const isThere = now?.includes(`${word}${id} `) === true
      if ((await foundBy(word, id)) !== isThere)
        say(`a search ${isThere ? "does not find" : "still finds"} ${word}${id}`)
    }
    kept.set(id, now)
    return had.failed > 0
  }
  for (const deed of deeds) {
    for (const failing of failings) {
      let at = 1
      while (await trial(deed, at, failing)) at += step
      log(`${deed.name}, ${failing.error} ${failing.lasting ? "from an operation on" : "once"}: ${at} operations`)
    }
  }
  for (const [id, content] of kept) {
    if ((await contentOf(id)) !== content) wrong.push(`${id} is not as it was when it was last looked at`)
  }
  const { body } = await ask("GET", "/stats")
  const there = [...kept.values()].filter((content) => content !== undefined).length
  if (body["documents"] !== there) wrong.push(`there are ${String(body["documents"])} documents, not ${there}`)
  return { trials, failed, wrong }
}
