import { useState } from "preact/hooks"
import { type Address, go, href, hrefOf } from "./address.ts"
import { call, type Given } from "./api.ts"
import {
  type Choice,
  choiceIn,
  choiceTo,
  commandLine,
  flagsOf,
  inTypeScript,
  settingsOf,
  describeChoice,
  topKIn
} from "./asking.ts"
import { placeText } from "./Hit.tsx"
import { useAfter, useLoad, useMay, useShell, useText } from "./hooks.ts"
import { Judge } from "./Judge.tsx"
import { seconds, splitSource, wordsToMark } from "./matching.ts"
import { CopyAs, Dialog, Empty, SourcePath, Trouble, Waiting } from "./Parts.tsx"
import { keyOf } from "./scoring.ts"
import { ChoiceFields, CollectionField } from "./Settings.tsx"
import { Excerpt } from "./Text.tsx"
import type { Compared, Found } from "./wire.ts"

const pause = 120
const excerptLength = 180
const sides = [
  ["A", "a", "b"],
  ["B", "b", "a"]
] as const

/** How a passage's rank differs from that on the other side. */
const Move = ({ other, rank }: { readonly rank: number; readonly other: number | undefined }) => {
  const by = other === undefined ? undefined : other - rank
  const [kind, text, sign] =
    by === undefined
      ? ["move only", "only here", "only here"]
      : by === 0
        ? ["move", "same rank", "="]
        : by > 0
          ? ["move up", `${by} higher than there`, `↑ ${by}`]
          : ["move down", `${-by} lower than there`, `↓ ${-by}`]
  return (
    <span class={kind} title={text}>
      <span class="unseen">{text}</span>
      <span aria-hidden="true">{sign}</span>
    </span>
  )
}

const Side = ({
  choice,
  found,
  name,
  onChange,
  other,
  question,
  words
}: {
  readonly name: string
  readonly question: string
  readonly choice: Choice
  readonly found: Found | undefined
  readonly other: Found | undefined
  readonly words: ReadonlyArray<string>
  readonly onChange: (choice: Choice) => void
}) => {
  const [isOpen, open] = useState(false)
  const there = new Map((other?.results ?? []).map((hit, at) => [keyOf(hit), at + 1]))
  return (
    <section aria-label={`${name}: ${describeChoice(choice)}`} class="side">
      <header>
        <b>{name}</b>
        <button
          type="button"
          class="quiet"
          onClick={() => open(true)}
          aria-label={`Settings of ${name}: ${describeChoice(choice)}`}
        >
          {describeChoice(choice)}
        </button>
        {found !== undefined && <span class="told">{seconds(found.query_time_ms)}</span>}
      </header>
      {isOpen && (
        <Dialog title={`Settings of ${name}`} onClose={() => open(false)}>
          <div class="fields">
            <ChoiceFields choice={choice} onChange={onChange} />
          </div>
        </Dialog>
      )}
      {found?.results.length === 0 && <p class="remark">Nothing found</p>}
      <ol class="hits">
        {(found?.results ?? []).map((hit, at) => {
          const { metadata, text } = hit
          return (
            <li key={keyOf(hit)} class="hit" value={at + 1}>
              <span class="rank">{at + 1}</span>
              <div>
                <h2>
                  <a href={hrefOf(metadata, { q: question })} data-hit>
                    {metadata.title ?? splitSource(metadata.source)[1]}
                  </a>
                </h2>
                <p class="where">
                  <SourcePath source={metadata.source} />
                  <span>{placeText(metadata)}</span>
                </p>
                <Excerpt source={metadata.source} text={text} words={words} limit={excerptLength} />
              </div>
              <Move rank={at + 1} other={there.get(keyOf(hit))} />
            </li>
          )
        })}
      </ol>
    </section>
  )
}

/** One question, searched for in two ways; and which is better, by what people judge. */
export const Compare = ({ given }: Pick<Address, "given">) => {
  const { who } = useShell()
  // Judgements tell of all collections.
  const mayJudge = useMay("write") && who.collections === undefined
  const asked = given["q"] ?? ""
  const [text, setText] = useText(asked)
  const a = choiceIn(given, "a.")
  const b = choiceIn({ "b.mode": "meaning", ...given }, "b.")
  const topK = topKIn(given)
  const collection = given["c"]
  const isJudging = given["judge"] !== undefined && mayJudge
  const change = (more: Given, replacing = false) => go(href("compare", { ...given, ...more }), replacing)

  const body = { query: asked, top_k: topK, collection, a: settingsOf(a), b: settingsOf(b) }
  const { failure, isCurrent, isLoading, value } = useLoad<Compared>(
    asked === "" ? undefined : JSON.stringify(body),
    (signal) => call<Compared>("POST", "/compare", { body: { ...body, explain: true }, signal }),
    pause
  )
  const isSlow = useAfter(isLoading)
  const words = wordsToMark(asked, value?.a)
  return (
    <div class="compare">
      <div class="tools">
        <form
          class="grow"
          role="search"
          onSubmit={() => {
            if (text.trim() !== "") change({ q: text.trim(), judge: undefined })
          }}
        >
          <label class="field">
            <span class="unseen">A question for both</span>
            <input
              id="search-field"
              type="search"
              value={text}
              maxLength={10_000}
              placeholder="A question for both"
              autoComplete="off"
              autofocus
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <kbd aria-hidden="true">/</kbd>
          </label>
        </form>
        <CollectionField value={collection} onChange={(c) => change({ c })} />
        {mayJudge && value !== undefined && (isJudging || value.moves.length > 0) && (
          <button
            type="button"
            class={isJudging ? undefined : "primary"}
            onClick={() => change({ judge: isJudging ? undefined : 1 })}
          >
            {isJudging ? "Back to the lists" : "Judge"}
          </button>
        )}
        {asked !== "" && (
          <CopyAs
            request={{
              path: "/compare",
              body,
              cli: [a, b]
                .map((each) =>
                  commandLine("query", asked, { "-k": topK, ...flagsOf(each), "--collection": collection })
                )
                .join("\n"),
              mcp: { tool: "search", arguments: { query: asked, top_k: topK, collection, ...settingsOf(a) } },
              typescript: inTypeScript("{ a, b, moves }", "compare", body)
            }}
          />
        )}
      </div>
      <Trouble failure={failure} />
      {asked === "" && (
        <Empty title="Two settings side by side">
          <p>
            See what changes between them, judge what answers, and keep the better one. The judgements also serve as a
            gate in CI.
          </p>
        </Empty>
      )}
      {asked !== "" && value === undefined && isSlow && <Waiting />}
      {value !== undefined && isJudging && isCurrent && (
        <Judge question={asked} compared={value} body={body} words={words} />
      )}
      {asked !== "" && !isJudging && (
        <>
          {value !== undefined && (
            <p class="remark" role="status">
              {Math.round(100 * value.overlap)} % of the passages are in both lists
            </p>
          )}
          <div class={isSlow && !isCurrent ? "sides results is-old" : "sides"} aria-busy={isLoading}>
            {sides.map(([name, own, other]) => (
              <Side
                key={name}
                name={name}
                question={asked}
                choice={own === "a" ? a : b}
                found={value?.[own]}
                other={value?.[other]}
                words={words}
                onChange={(next) => change({ ...choiceTo(next, `${own}.`), [`${own}.mode`]: next.mode }, true)}
              />
            ))}
          </div>
        </>
      )}
    </div>
  )
}
