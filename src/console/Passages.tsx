import { useEffect, useRef, useState } from "preact/hooks"
import { go, href } from "./address.ts"
import { asFailure, call, type Failure, query } from "./api.ts"
import { placeText } from "./Hit.tsx"
import { useGet, useKeys } from "./hooks.ts"
import { count, splitSource } from "./matching.ts"
import { Trouble, Waiting } from "./Parts.tsx"
import { isCode, Markdown } from "./Text.tsx"
import type { Passages as Page } from "./wire.ts"

const pageSize = 50

/** A document's passages, as they were cut. */
export const Passages = ({
  closed,
  collection,
  docId
}: {
  readonly docId: string
  readonly collection: string | undefined
  readonly closed: string
}) => {
  const panel = useRef<HTMLElement>(null)
  const [more, setMore] = useState<Page["passages"]>([])
  const [failure, fail] = useState<Failure>()
  const path = `/documents/${encodeURIComponent(docId)}/passages`
  const first = useGet<Page>(`${path}${query({ collection, limit: pageSize })}`)
  useKeys({ Escape: () => go(closed) })
  useEffect(() => {
    setMore([])
    panel.current?.focus({ preventScroll: true })
  }, [docId])
  const passages = [...(first.value?.passages ?? []), ...more]
  const source = first.value?.source ?? docId
  const load = async () => {
    try {
      const page = await call<Page>("GET", `${path}${query({ collection, limit: pageSize, offset: passages.length })}`)
      setMore([...more, ...page.passages])
    } catch (error) {
      fail(asFailure(error))
    }
  }
  return (
    <aside class="panel" aria-label="Passages of the document" ref={panel} tabIndex={-1}>
      <header>
        <div class="title">
          <h2>{first.value?.title ?? splitSource(source)[1]}</h2>
          <a class="button quiet icon" href={closed} aria-label="Close the document">
            ✕
          </a>
        </div>
        <p class="where">
          <span class="path" title={source}>
            <bdi>{source}</bdi>
          </span>
          {first.value && <span>{count(first.value.total, "passage")}</span>}
        </p>
        <p class="actions links">
          <a class="link" href={href("graph", { name: first.value?.title ?? source, c: collection })}>
            Its neighbours in the graph
          </a>
        </p>
      </header>
      {(first.failure ?? failure) && <Trouble failure={(first.failure ?? failure)!} />}
      <div class="document" tabIndex={0} role="group" aria-label="Passages">
        {first.value === undefined && first.failure === undefined && <Waiting rows={6} />}
        <ol class="cut">
          {passages.map((passage) => (
            <li key={passage.chunk_index}>
              <p class="where">
                <span>{passage.chunk_index}</span>
                <span>{placeText(passage)}</span>
                <span>{count(passage.text.length, "character")}</span>
              </p>
              {isCode(source) ? <pre>{passage.text}</pre> : <Markdown source={passage.text} words={[]} />}
            </li>
          ))}
        </ol>
        {first.value !== undefined && passages.length < first.value.total && (
          <button type="button" onClick={() => void load()}>
            More passages
          </button>
        )}
      </div>
    </aside>
  )
}
