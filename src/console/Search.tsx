import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { type Address, go, href, noPassage } from "./address.ts"
import { call, type Given, query } from "./api.ts"
import {
  choiceIn,
  chosenIn,
  commandLine,
  filterOf,
  flagsOf,
  inTypeScript,
  settingsOf,
  describeChoice,
  topKIn
} from "./asking.ts"
import { FacetList } from "./Facets.tsx"
import { HitItem } from "./Hit.tsx"
import { isWriting, useAfter, useGet, useKeys, useLoad, useShell } from "./hooks.ts"
import { count, isLikely, seconds, sentence, wordsToMark } from "./matching.ts"
import { CopyAs, Empty, NothingIndexed, Track, Trouble, Waiting } from "./Parts.tsx"
import { Passage } from "./Passage.tsx"
import { Drawer } from "./Settings.tsx"
import { keyOf } from "./scoring.ts"
import type { Found, Hit, Statistics, Suggestions } from "./wire.ts"
import { WhyNot } from "./Why.tsx"

/** Milliseconds after a key in which a next one may come, so that nothing is asked for the first. */
const pause = 30
const facetsAtFirst = ["folder", "format", "collection", "indexed"]
const mostFacets = 10

/** The service's own keys of a result; all others are the document's. */
const own = new Set(
  "source doc_id title collection chunk_index heading start end start_line end_line locator page slide sheet table_header pages author".split(
    " "
  )
)

/** The metadata keys of results by which they could be narrowed. */
const keysOf = (results: ReadonlyArray<Hit>): ReadonlyArray<string> => [
  ...new Set(
    results.flatMap(({ metadata }) =>
      Object.entries(metadata).flatMap(([name, value]) =>
        own.has(name) || (typeof value === "object" && !Array.isArray(value)) ? [] : [name]
      )
    )
  )
]

/** What matched the question in other words: titles, headings and names that begin so. */
const Suggested = ({
  collection,
  onChoose,
  text
}: {
  readonly text: string
  readonly collection: string | undefined
  readonly onChoose: (text: string) => void
}) => {
  const prefix = text.trim()
  const path =
    prefix.length < 2 || prefix.length > 100 ? undefined : `/suggest${query({ prefix, collection, limit: 6 })}`
  const { value, isCurrent } = useGet<Suggestions>(path, pause)
  const others = (isCurrent && value ? value.suggestions : []).filter(
    (each) => each.text.toLowerCase() !== prefix.toLowerCase()
  )
  if (others.length === 0) return null
  return (
    <ul class="suggested" aria-label="Suggestions">
      {others.map((each) => (
        <li key={`${each.kind} ${each.text}`}>
          <button type="button" onClick={() => onChoose(each.text)} title={each.source}>
            {each.text} <small>{each.kind}</small>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** The stages of a search, in their order. */
const stageNames: Readonly<Record<string, string>> = {
  embed: "embedding the question",
  mask: "filter",
  vector: "by meaning",
  keyword: "by words",
  fuse: "fusing",
  context: "neighbours",
  read: "reading texts",
  rerank: "reranker",
  facets: "facets"
}

/** How long each stage took. */
const Stages = ({ found }: { readonly found: Found }) => {
  const stages = Object.entries(found.explain?.stages_us ?? {}).flatMap(([name, us]) =>
    us === undefined || us === 0 ? [] : [[name, us] as const]
  )
  const all = stages.reduce((sum, [, us]) => sum + us, 0)
  const order = Object.keys(stageNames)
  return (
    <details class="stages">
      <summary>{seconds(found.query_time_ms)}</summary>
      <dl>
        {stages
          .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
          .map(([name, us]) => (
            <div key={name}>
              <dt>{stageNames[name] ?? name}</dt>
              <dd>
                <Track share={us / Math.max(1, all)} />
                {(us / 1000).toFixed(2)} ms
              </dd>
            </div>
          ))}
      </dl>
    </details>
  )
}

const Remarks = ({ found }: { readonly found: Found }) => (
  <>
    {found.degraded !== undefined && <p class="remark">Searched with less than usual: {found.degraded}</p>}
    {found.also_searched !== undefined && <p class="remark">Also searched for {found.also_searched.join(", ")}</p>}
    {found.read_as?.as_words !== undefined && <p class="remark">{found.read_as.as_words}</p>}
  </>
)

export const Search = ({ given }: Pick<Address, "given">) => {
  const { announce } = useShell()
  const field = useRef<HTMLInputElement>(null)
  const committed = useRef(true)
  const [text, setText] = useState(given["q"] ?? "")
  const [isDrawerOpen, openDrawer] = useState(false)
  const [seenKeys, seeKeys] = useState<ReadonlyArray<string>>([])
  const asked = given["q"] ?? ""
  const choice = choiceIn(given)
  const topK = topKIn(given)
  const collection = given["c"]
  const filter = filterOf(chosenIn(given["f"]))

  // The address changed by itself: back, forward, a link.
  useEffect(() => {
    if (document.activeElement !== field.current || committed.current) setText(asked)
  }, [asked])

  const change = (more: Given, replacing = false) => go(href("search", { ...given, ...noPassage, ...more }), replacing)

  // The question while it is typed is one step of the history; what follows Enter or an opened passage is the next.
  const type = (value: string) => {
    setText(value)
    if (value.trim() === asked.trim()) return
    change({ q: value.trim(), why: undefined }, !committed.current)
    committed.current = false
  }
  const commit = () => {
    committed.current = true
  }

  const body = { query: asked, top_k: topK, ...settingsOf(choice), collection, filter }
  const facets = [...facetsAtFirst, ...seenKeys].slice(0, mostFacets)
  const searchKey = asked === "" ? undefined : JSON.stringify([body, facets])
  const { failure, isCurrent, isLoading, value } = useLoad<Found & { readonly of: string }>(
    searchKey,
    async (signal) => ({
      ...(await call<Found>("POST", "/query", { body: { ...body, facets, explain: true }, signal })),
      of: asked
    }),
    pause
  )
  const isSlow = useAfter(isLoading)
  const results = value?.results ?? []
  useEffect(() => {
    const fresh = keysOf(results).filter((name) => !seenKeys.includes(name))
    if (fresh.length > 0) seeKeys([...seenKeys, ...fresh].slice(0, mostFacets - facetsAtFirst.length))
    if (value !== undefined && isCurrent)
      announce(results.length === 0 ? "Nothing found" : count(results.length, "passage"))
  }, [value])

  const words = useMemo(() => wordsToMark(value?.of ?? "", value), [value])
  const strong = results.filter(isLikely)
  const weak = results.filter((hit) => !isLikely(hit))

  const move = (by: number) => (event: KeyboardEvent) => {
    if (isWriting(event.target) && event.target !== field.current) return
    const links = [...document.querySelectorAll<HTMLElement>("[data-hit]")]
    const at = links.indexOf(document.activeElement as HTMLElement)
    event.preventDefault()
    if (at === 0 && by < 0) return field.current?.focus()
    links[at === -1 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, at + by)]?.focus()
  }
  useKeys({ ArrowDown: move(1), ArrowUp: move(-1), j: move(1), k: move(-1), s: () => openDrawer(true) })

  const opened = given["open"]
  const request = {
    path: "/query",
    body,
    cli: commandLine("query", asked, {
      "-k": topK,
      ...flagsOf(choice),
      "--collection": collection,
      "--filter": filter && JSON.stringify(filter)
    }),
    mcp: { tool: "search", arguments: body },
    typescript: inTypeScript("{ results }", "query", body)
  }
  const items = (list: ReadonlyArray<Hit>, from: number) =>
    list.map((hit, at) => (
      <HitItem key={keyOf(hit)} hit={hit} rank={from + at + 1} words={words} given={given} onOpen={commit} />
    ))

  return (
    <div class={opened === undefined ? "search" : "search has-panel"}>
      <div class="ask-line">
        <form
          role="search"
          onSubmit={() => {
            commit()
            document.querySelector<HTMLElement>("[data-hit]")?.focus()
          }}
        >
          <label class="field">
            <span class="unseen">Search</span>
            <input
              ref={field}
              id="search-field"
              type="search"
              value={text}
              maxLength={10_000}
              placeholder="Search your documents"
              autoComplete="off"
              spellcheck={false}
              autofocus
              onInput={(event) => type(event.currentTarget.value)}
              onBlur={commit}
              onKeyDown={(event) => {
                if (event.key === "ArrowDown") move(1)(event)
              }}
            />
            <kbd aria-hidden="true">/</kbd>
          </label>
        </form>
        <button
          type="button"
          class="settings-button"
          onClick={() => openDrawer(true)}
          aria-label={`Settings: ${describeChoice(choice)}`}
        >
          {describeChoice(choice)}
        </button>
      </div>
      <Suggested
        text={text}
        collection={collection}
        onChoose={(each) => {
          commit()
          setText(each)
          change({ q: each })
        }}
      />
      {isDrawerOpen && <Drawer given={given} onClose={() => openDrawer(false)} onChange={change} />}
      {asked === "" ? (
        <Welcome />
      ) : (
        <div class="columns">
          <FacetList facets={value?.facets} given={given} onChange={change} />
          <section
            class={isSlow && !isCurrent ? "results is-old" : "results"}
            aria-label="Results"
            aria-busy={isLoading}
          >
            <Trouble failure={failure} />
            {value === undefined && isSlow && <Waiting />}
            {value !== undefined && (
              <>
                <div class="result-head">
                  <p>
                    {isSlow && !isCurrent
                      ? `Searching; below is still what “${value.of}” found`
                      : results.length === 0
                        ? "Nothing found"
                        : count(results.length, "passage")}
                  </p>
                  <Stages found={value} />
                  <CopyAs request={request} />
                </div>
                <Remarks found={value} />
                {results.length === 0 && (
                  <NothingFound
                    found={value}
                    collection={collection}
                    isNarrowed={filter !== undefined || choice.min !== undefined}
                    onClear={() => change({ f: undefined, min: undefined, c: undefined })}
                  />
                )}
                {strong.length > 0 && <ol class="hits">{items(strong, 0)}</ol>}
                {weak.length > 0 && (
                  <>
                    <h2 class="apart">
                      {strong.length === 0 ? "Nothing here is likely to answer. Closest are" : "Unlikely to answer"}
                    </h2>
                    <ol class="hits weak" start={strong.length + 1}>
                      {items(weak, strong.length)}
                    </ol>
                  </>
                )}
                <div class="after">
                  {results.length === topK && topK < 100 && (
                    <button type="button" onClick={() => change({ k: Math.min(100, topK + 20) }, true)}>
                      More
                    </button>
                  )}
                  <WhyNot given={given} />
                </div>
              </>
            )}
          </section>
          {opened !== undefined && <Passage docId={opened} given={given} words={words} results={results} />}
        </div>
      )}
    </div>
  )
}

const NothingFound = ({
  collection,
  found,
  isNarrowed,
  onClear
}: {
  readonly found: Found
  readonly collection: string | undefined
  readonly isNarrowed: boolean
  readonly onClear: () => void
}) => {
  const { value: stats } = useGet<Statistics>(`/stats${query({ collection })}`)
  if (stats?.documents === 0) return <NothingIndexed />
  return (
    <Empty title="No passage matches">
      {found.hint !== undefined && <p>{sentence(found.hint)}</p>}
      <ul>
        {isNarrowed && (
          <li>
            <button type="button" class="link" onClick={onClear}>
              Search without the filters
            </button>
          </li>
        )}
        {found.mode === "keyword" && <li>Only words were searched: search by meaning too, in the settings.</li>}
        {found.read_as !== undefined && found.hint === undefined && (
          <li>Quotes, -word and field:word narrow the search: leave them out.</li>
        )}
        <li>Use other words, or fewer.</li>
        <li>
          See under <a href={href("documents")}>Documents</a> whether what you look for is indexed.
        </li>
      </ul>
    </Empty>
  )
}

const Welcome = () => {
  const { value: stats } = useGet<Statistics>("/stats")
  if (stats?.documents === 0) return <NothingIndexed />
  return (
    <Empty title="Find the passage that answers">
      <p>
        {stats && `${count(stats.documents, "document")}, ${count(stats.chunks, "passage")}. `}
        Ask in your own words. <kbd>"quoted phrases"</kbd>, <kbd>-without</kbd> and <kbd>title:word</kbd> narrow it.
      </p>
      <p>
        <kbd>↓</kbd> <kbd>↑</kbd> move, <kbd>Enter</kbd> opens, <kbd>?</kbd> lists all keys.
      </p>
    </Empty>
  )
}
