import { useEffect, useRef, useState } from "preact/hooks"
import { type Address, go, href, hrefOf, numberIn } from "./address.ts"
import { commandLine, inTypeScript } from "./asking.ts"
import { ask, askBody, partsOf, type Turn } from "./conversation.ts"
import { placeText } from "./Hit.tsx"
import { useShell } from "./hooks.ts"
import { count, quotedIn, wordsToMark } from "./matching.ts"
import { CopyAs, Empty, SourcePath, Trouble } from "./Parts.tsx"
import { CollectionField } from "./Settings.tsx"
import { Markdown, PassageText, Runs } from "./Text.tsx"
import type { Citation } from "./wire.ts"

type Verdict = Citation["verdict"]

const verdicts: Readonly<Record<Verdict, readonly [sign: string, text: string]>> = {
  mentioned: ["=", "The passage says it, nearly word for word"],
  unclear: ["~", "Neither words nor meaning decide"],
  not_found: ["?", "The passage does not say it"],
  contradicted: ["✕", "The passage says otherwise"]
}

const Answer = ({
  isLast,
  onPick,
  picked,
  turn
}: {
  readonly turn: Turn
  readonly isLast: boolean
  readonly picked: number | undefined
  readonly onPick: (index: number | undefined) => void
}) => {
  const { citations, failure, question, sources, state } = turn
  const words = wordsToMark(question)
  const list = useRef<HTMLOListElement>(null)
  const pick = (index: number) => {
    onPick(index)
    list.current?.querySelector(`[data-source="${index}"]`)?.scrollIntoView({ block: "nearest" })
  }
  return (
    <article class="turn" aria-busy={state === "asking"}>
      <h2>{question}</h2>
      <div class="answer" aria-live={isLast ? "polite" : undefined}>
        {partsOf(turn).map((part) =>
          part.kind === "text" && part.text.includes("```") ? (
            <Markdown key={part.start} source={part.text} words={[]} />
          ) : part.kind === "text" ? (
            <span key={part.start}>
              <Runs source={part.text} start={0} end={part.text.length} words={[]} />
            </span>
          ) : (
            <button
              key={`${part.start} ${part.index}`}
              type="button"
              class={`cite ${part.citation?.verdict ?? ""}`}
              aria-label={`Passage ${part.index}${part.citation === undefined ? "" : `: ${verdicts[part.citation.verdict][1]}`}`}
              title={part.citation && `${verdicts[part.citation.verdict][1]}: “${part.citation.sentence}”`}
              onClick={() => pick(part.index)}
            >
              {part.index}
              {part.citation && <i aria-hidden="true">{verdicts[part.citation.verdict][0]}</i>}
            </button>
          )
        )}
        {state === "asking" && <span class="caret" aria-label="Answering" role="img" />}
      </div>
      {state === "stopped" && <p class="remark">Stopped.</p>}
      <Trouble failure={failure} />
      {citations && (
        <p class="remark">
          {citations.llm.backend === "extractive"
            ? "Quoted from the passages, without a model"
            : `Written by ${citations.llm.model ?? citations.llm.backend}`}
          {citations.llm.why !== undefined && ` (${citations.llm.why})`}
          {citations.cut && "; cut at llm.max_tokens"}
          {citations.omitted !== undefined && `; ${count(citations.omitted, "passage")} had no room`}
        </p>
      )}
      {sources.length > 0 && (
        <ol class="sources" ref={list} aria-label="Passages behind the answer">
          {sources.map((source) => {
            const cited = (citations?.citations ?? []).filter(({ index }) => index === source.index)
            const isPicked = picked === source.index
            const span = cited.map(({ sentence }) => quotedIn(source.text, sentence)).find((each) => each !== undefined)
            const marking = {
              span,
              words:
                span === undefined ? wordsToMark(`${question} ${cited.map((each) => each.sentence).join(" ")}`) : words
            }
            return (
              <li key={source.index} data-source={source.index} class={isPicked ? "is-picked" : undefined}>
                <button
                  type="button"
                  class="source"
                  aria-expanded={isPicked}
                  onClick={() => onPick(isPicked ? undefined : source.index)}
                >
                  <span class="number">{source.index}</span>
                  <SourcePath source={source.source} />
                  <span class="told">{placeText(source)}</span>
                  {cited.map(({ verdict }, at) => (
                    <span key={at} class={`verdict ${verdict}`} title={verdicts[verdict][1]}>
                      {verdicts[verdict][0]}
                    </span>
                  ))}
                </button>
                {isPicked && (
                  <div class="quoted">
                    {cited.map(({ sentence, verdict }, at) => (
                      <p key={at} class={`claim ${verdict}`}>
                        <b>{verdicts[verdict][1]}:</b> {sentence}
                      </p>
                    ))}
                    <PassageText {...source} {...marking} />
                    <a class="link" href={hrefOf(source, { q: question, c: source.collection })}>
                      Open in its document
                    </a>
                  </div>
                )}
              </li>
            )
          })}
        </ol>
      )}
    </article>
  )
}

/** Questions that the index answers; what follows is asked with what was cited before. */
export const Ask = ({ given }: Pick<Address, "given">) => {
  const { announce, pulse } = useShell()
  const [turns, setTurns] = useState<ReadonlyArray<Turn>>([])
  const [text, setText] = useState("")
  const [picked, pick] = useState<{ readonly turn: number; readonly index: number }>()
  const running = useRef<AbortController | undefined>(undefined)
  const collection = given["c"]
  const topK = numberIn(given["k"], 1, 100) ?? 5
  const isRunning = turns.at(-1)?.state === "asking"

  const start = async (question: string, before: ReadonlyArray<Turn>) => {
    running.current?.abort()
    const controller = (running.current = new AbortController())
    if (before.length === 0) pick(undefined)
    await ask(
      askBody(question, before, { collection, topK }),
      (turn) => {
        if (running.current !== controller) return
        setTurns([...before, turn])
        if (turn.state === "done") announce("Answered")
      },
      controller.signal
    )
  }

  // The address has the first question, so that it can be shared.
  const first = given["q"] ?? ""
  useEffect(() => {
    if (first === "") {
      running.current?.abort()
      running.current = undefined
      setTurns([])
    } else if (turns[0]?.question !== first) void start(first, [])
  }, [first])
  useEffect(() => () => running.current?.abort(), [])
  useEffect(() => {
    const last = turns.at(-1)
    if (last?.failure?.isAwaited) void start(last.question, turns.slice(0, -1))
  }, [pulse])

  const submit = (event: Event) => {
    event.preventDefault()
    const question = text.trim()
    if (question === "") return
    setText("")
    if (turns.length === 0) go(href("ask", { ...given, q: question }))
    else void start(question, turns)
  }
  const body = askBody(turns.at(-1)?.question ?? first, turns.slice(0, -1), { collection, topK })
  return (
    <div class="ask">
      {turns.length === 0 && (
        <Empty title="Ask, and see what the answer rests on">
          <p>Each citation is checked: whether its passage says what the answer says.</p>
        </Empty>
      )}
      {turns.map((turn, at) => (
        <Answer
          key={at}
          turn={turn}
          isLast={at === turns.length - 1}
          picked={picked?.turn === at ? picked.index : undefined}
          onPick={(index) => pick(index === undefined ? undefined : { turn: at, index })}
        />
      ))}
      <form class="ask-form" onSubmit={submit}>
        <label class="field">
          <span class="unseen">{turns.length === 0 ? "Your question" : "A follow-up question"}</span>
          <textarea
            id="search-field"
            rows={2}
            value={text}
            maxLength={10_000}
            autofocus
            placeholder={turns.length === 0 ? "Ask your documents" : "Ask further"}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event)
            }}
          />
        </label>
        <p class="actions">
          {isRunning ? (
            <button type="button" class="primary" onClick={() => running.current?.abort()}>
              Stop
            </button>
          ) : (
            <button type="submit" class="primary" disabled={text.trim() === ""}>
              Ask
            </button>
          )}
          {turns.length > 0 && (
            <a class="button quiet" href={href("ask", { c: collection })}>
              New conversation
            </a>
          )}
          <CollectionField value={collection} onChange={(c) => go(href("ask", { ...given, c }), true)} />
          {body.query !== "" && (
            <CopyAs
              request={{
                path: "/ask",
                body,
                cli: commandLine("ask", body.query, { "-k": topK, "--collection": collection }),
                mcp: { tool: "get_prompt", arguments: { query: body.query, top_k: topK, collection } },
                typescript:
                  inTypeScript("answer", "ask", body)
                    .replace("await ", "")
                    .replace("const answer = ", "for await (const event of ") + ") console.log(event)"
              }}
            />
          )}
        </p>
      </form>
    </div>
  )
}
