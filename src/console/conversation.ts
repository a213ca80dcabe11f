import { asFailure, eventsOf, Failure, inEvents, send } from "./api.ts"
import type { AskBody, Citation, Citations, Source } from "./wire.ts"

/** A question and its answer, as far as it has come. */
export interface Turn {
  readonly question: string
  readonly sources: ReadonlyArray<Source>
  readonly answer: string
  readonly citations?: Citations | undefined
  readonly state: "asking" | "done" | "stopped" | "failed"
  readonly failure?: Failure | undefined
}

/** Turns that a follow-up question is asked after, at most. */
const remembered = 6

/** The request for a question, with what was said before it. */
export const askBody = (
  question: string,
  before: ReadonlyArray<Turn>,
  { collection, topK }: { readonly collection: string | undefined; readonly topK: number }
): AskBody => {
  const answered = before.filter(({ answer }) => answer !== "").slice(-remembered)
  const last = answered.at(-1)
  return {
    query: question,
    // "And how long does that take?" is searched for together with what it follows.
    queries: last && [`${last.question} ${question}`.slice(0, 10_000)],
    history:
      last &&
      answered.flatMap(({ answer, question }) => [
        { role: "user" as const, content: question },
        { role: "assistant" as const, content: answer }
      ]),
    top_k: topK,
    collection,
    verify: true
  }
}

/** Asks, and tells of each step of the answer. */
export const ask = async (body: AskBody, onChange: (turn: Turn) => void, signal: AbortSignal): Promise<void> => {
  let turn: Turn = { question: body.query, sources: [], answer: "", state: "asking" }
  const change = (more: Partial<Turn>) => onChange((turn = { ...turn, ...more }))
  change({})
  try {
    const response = await send("POST", "/ask", { body, signal, headers: inEvents })
    for await (const { data, event } of eventsOf(response)) {
      if (event === "source") change({ sources: [...turn.sources, JSON.parse(data) as Source] })
      else if (event === "token") change({ answer: turn.answer + data })
      else if (event === "citations") change({ citations: JSON.parse(data) as Citations })
      else if (event === "done") change({ state: "done" })
      else if (event === "error") {
        const { message } = JSON.parse(data) as { readonly message: string }
        throw new Failure(503, message)
      }
    }
    if (turn.state === "asking") throw new Failure(503, "The answer was cut short; ask again")
  } catch (error) {
    if (signal.aborted) return change({ state: "stopped" })
    change({ state: "failed", failure: asFailure(error) })
  }
}

/** A run of an answer: text, or a mark with its verdict once that is known. */
export type Part =
  | { readonly kind: "text"; readonly start: number; readonly text: string }
  | { readonly kind: "mark"; readonly start: number; readonly index: number; readonly citation: Citation | undefined }

/** An answer with its marks `[1]` taken apart. */
export const partsOf = ({ answer, citations }: Turn): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let at = 0
  const text = (to: number) => {
    if (to > at) parts.push({ kind: "text", start: at, text: answer.slice(at, to) })
  }
  for (const { 0: mark, index: start } of answer.matchAll(/\[(\d{1,3}(?:, ?\d{1,3}){0,20})\]/g)) {
    text(start)
    const known = citations?.citations.filter((each) => each.start >= start && each.start < start + mark.length) ?? []
    for (const number of mark.slice(1, -1).split(",").map(Number)) {
      parts.push({
        kind: "mark",
        start,
        index: number,
        citation: known.find(({ index }) => index === number)
      })
    }
    at = start + mark.length
  }
  text(answer.length)
  return parts
}
