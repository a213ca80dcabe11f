import { useEffect, useRef, useState } from "preact/hooks"
import { go, href } from "./address.ts"
import { call, query } from "./api.ts"
import { placeText } from "./Hit.tsx"
import { useAttempt, useGet, useKeys } from "./hooks.ts"
import { count, splitSource } from "./matching.ts"
import { Panel, Trouble, Waiting } from "./Parts.tsx"
import { PassageText } from "./Text.tsx"
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
  const { attempt, failure } = useAttempt()
  const path = `/documents/${encodeURIComponent(docId)}/passages`
  const first = useGet<Page>(`${path}${query({ collection, limit: pageSize })}`)
  useKeys({ Escape: () => go(closed) })
  useEffect(() => {
    setMore([])
    panel.current?.focus({ preventScroll: true })
  }, [docId])
  const passages = [...(first.value?.passages ?? []), ...more]
  const source = first.value?.source ?? docId
  const load = () =>
    attempt(async () => {
      const page = await call<Page>("GET", `${path}${query({ collection, limit: pageSize, offset: passages.length })}`)
      setMore([...more, ...page.passages])
    })
  return (
    <Panel
      label="Passages of the document"
      title={first.value?.title ?? splitSource(source)[1]}
      source={source}
      closed={[closed, "document"]}
      within={panel}
      about={first.value && <span>{count(first.value.total, "passage")}</span>}
      links={
        <p class="actions links">
          <a class="link" href={href("graph", { name: first.value?.title ?? source, c: collection })}>
            Its neighbours in the graph
          </a>
        </p>
      }
    >
      <Trouble failure={first.failure ?? failure} />
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
              <PassageText source={source} text={passage.text} words={[]} />
            </li>
          ))}
        </ol>
        {first.value !== undefined && passages.length < first.value.total && (
          <button type="button" onClick={() => void load()}>
            More passages
          </button>
        )}
      </div>
    </Panel>
  )
}
