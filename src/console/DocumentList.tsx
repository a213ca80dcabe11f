import { useEffect, useRef, useState } from "preact/hooks"
import { query } from "./api.ts"
import { href } from "./address.ts"
import { useGet } from "./hooks.ts"
import { count, sentence, splitSource, when } from "./matching.ts"
import { Empty, Trouble, Waiting } from "./Parts.tsx"
import type { Listed, ListedDocument } from "./wire.ts"

export interface Listing {
  readonly collection: string | undefined
  readonly source: string
  readonly sort: string
}

/** A row's height in pixels, as the sheet has it. */
const rowHeight = 44
const pageSize = 500
/** Rows beyond the edges that are there, too. */
const spare = 8
const pause = 150

interface Props {
  readonly listing: Listing
  /** How many there are, if that is known. */
  readonly total: number | undefined
  readonly chosen: ReadonlyMap<string, ListedDocument>
  readonly onChoose: ((chosen: ReadonlyMap<string, ListedDocument>) => void) | undefined
  readonly opened: string | undefined
  readonly to: (docId: string) => string
}

/** All documents of a listing, of which only the rows in sight are elements. Pages come as they are scrolled to. */
export const DocumentList = ({ chosen, listing, onChoose, opened, to, total }: Props) => {
  const box = useRef<HTMLDivElement>(null)
  const [rows, setRows] = useState<ReadonlyArray<ListedDocument>>([])
  const [next, setNext] = useState<string | undefined>("")
  const [hint, setHint] = useState<string>()
  const [view, setView] = useState({ top: 0, height: 600 })
  const last = useRef<number | undefined>(undefined)

  const first = Math.max(0, Math.floor(view.top / rowHeight) - spare)
  const end = Math.ceil((view.top + view.height) / rowHeight) + spare
  const isWanted = next !== undefined && end >= rows.length

  const sort = listing.sort === "source" ? undefined : listing.sort
  const { failure, value: page } = useGet<Listed>(
    isWanted ? `/documents${query({ ...listing, sort, limit: pageSize, cursor: next })}` : undefined,
    rows.length === 0 && listing.source !== "" ? pause : 0
  )
  useEffect(() => {
    if (page === undefined) return
    setHint(page.hint)
    setRows((before) => [...before, ...page.documents])
    setNext(page.next_cursor)
  }, [page])

  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const update = () => setView({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(update)
    observer.observe(element)
    update()
    return () => observer.disconnect()
  }, [])

  const known = next === undefined ? rows.length : Math.max(total ?? 0, rows.length + 1)
  const toggle = (at: number, isRange: boolean) => {
    const changed = new Map(chosen)
    const row = rows[at]!
    const isOn = !chosen.has(row.doc_id)
    const from = isRange && last.current !== undefined ? Math.min(last.current, at) : at
    const to = isRange && last.current !== undefined ? Math.max(last.current, at) : at
    for (const each of rows.slice(from, to + 1)) {
      if (isOn) changed.set(each.doc_id, each)
      else changed.delete(each.doc_id)
    }
    last.current = at
    onChoose?.(changed)
  }
  const isAll = rows.length > 0 && rows.every(({ doc_id: id }) => chosen.has(id))

  return (
    <section class="list-box" aria-label="Documents">
      <Trouble failure={failure} />
      <div class="row head">
        {onChoose && (
          <input
            type="checkbox"
            aria-label="Choose all that are loaded"
            disabled={rows.length === 0}
            checked={isAll}
            onChange={() => onChoose(isAll ? new Map() : new Map(rows.map((row) => [row.doc_id, row])))}
          />
        )}
        <span class="name">
          {next === undefined
            ? count(rows.length, "document")
            : total === undefined
              ? ""
              : `${count(total, "document")}`}
          {chosen.size > 0 && `, ${chosen.size.toLocaleString("en")} chosen`}
        </span>
        <span class="figure">Passages</span>
        <span class="time">Indexed</span>
      </div>
      <div
        class="rows"
        ref={box}
        tabIndex={0}
        role={known > 0 ? "list" : "group"}
        aria-label="Documents"
        onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      >
        <div role="presentation" style={{ height: `${known * rowHeight}px` }}>
          {Array.from({ length: Math.max(0, Math.min(known, end) - first) }, (_, n) => {
            const at = first + n
            const row = rows[at]
            const [folder, name] = splitSource(row?.source ?? row?.doc_id ?? "")
            return (
              <div
                key={at}
                role="listitem"
                aria-setsize={next === undefined ? known : -1}
                aria-posinset={at + 1}
                class={row?.doc_id !== undefined && row.doc_id === opened ? "row is-open" : "row"}
                style={{ top: `${at * rowHeight}px` }}
              >
                {row === undefined ? (
                  <span class="name">…</span>
                ) : (
                  <>
                    {onChoose && (
                      <input
                        type="checkbox"
                        aria-label={`Choose ${row.source ?? row.doc_id}`}
                        checked={chosen.has(row.doc_id)}
                        onClick={(event) => toggle(at, event.shiftKey)}
                      />
                    )}
                    <a class="name" href={to(row.doc_id)} title={row.source ?? row.doc_id}>
                      <b>{row.title ?? name}</b> <span>{row.title === undefined ? folder : `${folder}${name}`}</span>
                    </a>
                    <span class="figure">{row.chunks.toLocaleString("en")}</span>
                    <span class="time">{when(row.indexed_at)}</span>
                  </>
                )}
              </div>
            )
          })}
        </div>
        {rows.length === 0 && next !== undefined && failure === undefined && <Waiting />}
        {rows.length === 0 && next === undefined && (
          <Empty title={listing.source === "" ? "Nothing is indexed here yet" : "No source contains that"}>
            {hint !== undefined && <p>{sentence(hint)}</p>}
            {listing.source === "" ? (
              onChoose && (
                <p>
                  Drop files or a folder on this page, or run <code>clew index FOLDER</code>.
                </p>
              )
            ) : (
              <a href={href("documents", { c: listing.collection })}>Show all documents</a>
            )}
          </Empty>
        )}
      </div>
    </section>
  )
}
