import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { type Address, go, href, noPassage, numberIn } from "./address.ts"
import { call, query } from "./api.ts"
import { choiceIn, settingsOf } from "./asking.ts"
import { placeText } from "./Hit.tsx"
import { useGet, useKeys, useLoad } from "./hooks.ts"
import { isLikely, splitSource, when } from "./matching.ts"
import { Copy, OpenIn, Panel, Trouble, Waiting } from "./Parts.tsx"
import { isCode, Lines, Markdown } from "./Text.tsx"
import type { Document, Found, Hit } from "./wire.ts"

/** Characters around the passage that are shown at once. */
const around = 5000
const further = 20_000
const mostHits = 50
const steps = [
  [-1, "Previous", "↑"],
  [1, "Next", "↓"]
] as const

interface Props extends Pick<Address, "given"> {
  readonly docId: string
  readonly words: ReadonlyArray<string>
  /** What is shown beside it: a hit there may join passages that overlap. */
  readonly results: ReadonlyArray<Hit>
}

/** A passage in its document: the text around it, the span marked; other hits in the document are steps away. */
export const Passage = ({ docId, given, results, words }: Props) => {
  const { in: collection = "default", q: question = "" } = given
  const index = numberIn(given["n"], 0, 1e9) ?? 0
  const settings = settingsOf(choiceIn(given))
  const closed = href("search", { ...given, ...noPassage })
  const panel = useRef<HTMLElement>(null)
  const before = useRef<Element | null>(null)
  const [isPlain, setPlain] = useState<boolean | undefined>()
  const [wider, widen] = useState({ above: 0, below: 0 })
  const path = `/documents/${encodeURIComponent(docId)}${query({ collection })}`
  const { failure, value: document_ } = useGet<Document>(path)
  const hits = useLoad<Found>(JSON.stringify([docId, collection, question, settings]), (signal) =>
    call<Found>("POST", "/query", {
      body: { query: question, top_k: mostHits, ...settings, collection, filter: { doc_id: docId } },
      signal
    })
  )

  useEffect(() => {
    before.current = document.activeElement
    panel.current?.focus({ preventScroll: true })
    return () => {
      const last = before.current
      if (last instanceof HTMLElement && last.isConnected) last.focus({ preventScroll: true })
    }
  }, [])
  useEffect(() => widen({ above: 0, below: 0 }), [docId, index])

  const stored = document_?.passages.find(({ chunk_index: each }) => each === index)
  const hit = [...results, ...(hits.value?.results ?? [])].find(
    ({ metadata }) => metadata.doc_id === docId && metadata.collection === collection && metadata.chunk_index === index
  )?.metadata
  // One of another state of the document does not have the passage in it.
  const passage = stored && hit && hit.start <= stored.start && hit.end >= stored.end ? hit : stored
  const span = passage && { start: passage.start, end: passage.end }
  useEffect(() => {
    const text = panel.current?.querySelector<HTMLElement>(".document")
    const marked = text?.querySelector<HTMLElement>(".in-span")
    // Only the panel scrolls.
    if (text && marked)
      text.scrollTop += marked.getBoundingClientRect().top - text.getBoundingClientRect().top - text.clientHeight / 4
  }, [passage?.start, passage?.end])

  // In the document's order; a passage that only its document's other words match is no hit.
  const places = useMemo(
    () =>
      (hits.value?.results ?? [])
        .filter(isLikely)
        .map(({ metadata }) => metadata.chunk_index)
        .concat(index)
        .filter((each, at, all) => all.indexOf(each) === at)
        .sort((a, b) => a - b),
    [hits.value, index]
  )
  const at = places.indexOf(index)
  const step = (by: number) => {
    const next = places[at + by]
    if (next !== undefined) go(href("search", { ...given, n: next }), true)
  }
  useKeys({
    Escape: () => go(closed),
    n: () => step(1),
    p: () => step(-1),
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1)
  })

  const metadata = document_?.metadata ?? {}
  const source = typeof metadata["source"] === "string" ? metadata["source"] : docId
  const title = typeof metadata["title"] === "string" ? metadata["title"] : splitSource(source)[1]
  const content = document_?.content ?? ""
  const window_ = span && {
    start: Math.max(0, span.start - around - wider.above),
    end: Math.min(content.length, span.end + around + wider.below)
  }
  const plain = isPlain ?? isCode(source)
  const cited =
    passage === undefined
      ? source
      : `${source}${passage.locator ?? `:${passage.start_line}${passage.end_line === passage.start_line ? "" : `-${passage.end_line}`}`}`

  return (
    <Panel
      label="Passage in its document"
      title={title}
      source={source}
      closed={[closed, "passage"]}
      within={panel}
      about={
        <>
          {passage && <span>{placeText(passage)}</span>}
          {document_?.changed === true && (
            <span class="tag warn">the file has changed since {when(document_.indexed_at)}</span>
          )}
          {document_?.gone === true && <span class="tag warn">the file is gone</span>}
        </>
      }
      links={
        <>
          {places.length > 1 && (
            <p class="actions">
              {steps.map(([by, which, sign]) => (
                <button
                  key={by}
                  type="button"
                  class="icon"
                  disabled={places[at + by] === undefined}
                  onClick={() => step(by)}
                  aria-label={`${which} hit in this document`}
                >
                  {sign}
                </button>
              ))}
              <span class="told">
                hit {at + 1} of {places.length}
              </span>
            </p>
          )}
          <p class="actions links">
            <button type="button" class="link" aria-pressed={plain} onClick={() => setPlain(!plain)}>
              {plain ? "As text" : "As lines"}
            </button>
            <Copy class="link" text={cited}>
              Copy citation
            </Copy>
            {passage && <OpenIn source={source} line={passage.start_line} />}
            <a
              class="link"
              href={href("documents", { doc: docId, c: collection === "default" ? undefined : collection })}
            >
              All passages
            </a>
          </p>
        </>
      }
    >
      <Trouble failure={failure} />
      {document_ === undefined && failure === undefined && <Waiting rows={8} />}
      {document_ !== undefined && passage === undefined && (
        <p class="remark">This document has no passage {index} any more; it was indexed again.</p>
      )}
      {document_ !== undefined && window_ !== undefined && (
        <div class="document">
          {window_.start > 0 && (
            <button type="button" class="link" onClick={() => widen({ ...wider, above: wider.above + further })}>
              More above
            </button>
          )}
          {plain ? (
            <Lines source={content} words={words} span={span} window={window_} />
          ) : (
            <Markdown source={content} words={words} span={span} window={window_} />
          )}
          {window_.end < content.length && (
            <button type="button" class="link" onClick={() => widen({ ...wider, below: wider.below + further })}>
              More below
            </button>
          )}
        </div>
      )}
    </Panel>
  )
}
