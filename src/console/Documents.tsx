import { useState } from "preact/hooks"
import { type Address, go, href } from "./address.ts"
import { call, type Given, query } from "./api.ts"
import { commandLine, inTypeScript } from "./asking.ts"
import { CollectionList } from "./Collections.tsx"
import { DocumentList, type Listing } from "./DocumentList.tsx"
import { useGet, useHome, useMay, useShell, useText } from "./hooks.ts"
import { count } from "./matching.ts"
import { Confirm, CopyAs, Progress } from "./Parts.tsx"
import { Passages } from "./Passages.tsx"
import { CollectionField } from "./Settings.tsx"
import { Upload } from "./Upload.tsx"
import type { ListedDocument, Statistics } from "./wire.ts"

/** The orders of the list, with that of `clew list` where it has the same. */
const sorting: ReadonlyArray<{ readonly sort: string; readonly text: string; readonly flag?: string }> = [
  { sort: "source", text: "By source" },
  { sort: "-indexed_at", text: "Newest first", flag: "indexed" },
  { sort: "indexed_at", text: "Oldest first" },
  { sort: "-passages", text: "Most passages first", flag: "passages" },
  { sort: "passages", text: "Fewest passages first" }
]

/** Documents that are deleted in one request. */
const batch = 100

/** Deletes once somebody has entered how many that are. */
const Deletion = ({
  chosen,
  collection,
  onDone
}: {
  readonly chosen: ReadonlyArray<ListedDocument>
  readonly collection: string | undefined
  readonly onDone: (deleted: boolean) => void
}) => {
  const { announce } = useShell()
  const [done, setDone] = useState<number>()
  const passages = chosen.reduce((sum, { chunks }) => sum + chunks, 0)
  const run = async () => {
    try {
      for (let at = 0; at < chosen.length; at += batch) {
        setDone(at)
        const ids = chosen.slice(at, at + batch).map(({ doc_id: id }) => id)
        await call("DELETE", "/documents", { body: { filter: { doc_id: ids }, collection } })
      }
      announce(`${count(chosen.length, "document")} deleted`)
    } finally {
      setDone(undefined)
    }
  }
  return (
    <Confirm
      title={`Delete ${count(chosen.length, "document")}?`}
      action="Delete"
      asked={chosen.length}
      run={run}
      onDone={onDone}
      running={done !== undefined && <Progress label="Deleting" done={done} total={chosen.length} />}
    >
      <p>
        {count(passages, "passage")} will be gone from the index. Files stay where they are
        {chosen.length <= 5 && ": "}
      </p>
      {chosen.length <= 5 && (
        <ul>
          {chosen.map((each) => (
            <li key={each.doc_id}>{each.source ?? each.doc_id}</li>
          ))}
        </ul>
      )}
    </Confirm>
  )
}

/** What is indexed: documents, and the collections that they are in. */
export const Documents = ({ given }: Pick<Address, "given">) => {
  const mayWrite = useMay("write")
  const home = useHome()
  const collection = given["c"] ?? home
  const listing: Listing = { collection, source: given["source"] ?? "", sort: given["sort"] ?? "source" }
  const isCollections = given["tab"] === "collections"
  const [version, setVersion] = useState(0)
  const [chosen, choose] = useState<ReadonlyMap<string, ListedDocument>>(new Map())
  const [isDeleting, setDeleting] = useState(false)
  const [text, setText] = useText(listing.source)
  const { reload, value: stats } = useGet<Statistics>(
    isCollections ? undefined : `/stats${query({ collection: collection ?? "default" })}`
  )
  const change = (more: Given, replacing = false) => go(href("documents", { ...given, ...more }), replacing)
  const again = () => {
    choose(new Map())
    setVersion(version + 1)
    reload()
  }
  const parameters = query({
    collection,
    source: listing.source,
    sort: listing.sort === "source" ? undefined : listing.sort,
    limit: 100
  })
  return (
    <div class="documents">
      <div class="page-head">
        <nav class="tabs" aria-label="What is indexed">
          <a href={href("documents", { c: given["c"] })} aria-current={isCollections ? undefined : "page"}>
            Documents
          </a>
          <a href={href("documents", { tab: "collections" })} aria-current={isCollections ? "page" : undefined}>
            Collections
          </a>
        </nav>
      </div>
      {isCollections ? (
        <CollectionList />
      ) : (
        <>
          <div class="tools">
            <label class="grow">
              <span class="unseen">Search by source</span>
              <input
                id="search-field"
                type="search"
                value={text}
                maxLength={200}
                placeholder="Part of a source, such as notes/ or .pdf"
                onInput={(event) => {
                  setText(event.currentTarget.value)
                  choose(new Map())
                  change({ source: event.currentTarget.value.trim() || undefined, doc: undefined }, true)
                }}
              />
            </label>
            <label>
              <span class="unseen">Order</span>
              <select
                value={listing.sort}
                onChange={(event) =>
                  change({ sort: event.currentTarget.value === "source" ? undefined : event.currentTarget.value }, true)
                }
              >
                {sorting.map(({ sort, text }) => (
                  <option key={sort} value={sort}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
            <CollectionField
              isOne
              value={collection}
              onChange={(c) => {
                choose(new Map())
                change({ c, doc: undefined })
              }}
            />
            {mayWrite && chosen.size > 0 && (
              <button type="button" class="danger" onClick={() => setDeleting(true)}>
                Delete {count(chosen.size, "document")}…
              </button>
            )}
            {mayWrite && <Upload collection={collection} onIndexed={again} />}
            <CopyAs
              request={{
                path: `/documents${parameters}`,
                cli: commandLine(
                  "list",
                  {
                    "--collection": collection,
                    "--sort": sorting.find(({ sort }) => sort === listing.sort)?.flag
                  },
                  ...(listing.source === "" ? [] : [`*${listing.source}*`])
                ),
                mcp: { tool: "list_sources", arguments: { collection } },
                typescript: inTypeScript("{ documents }", "listDocuments", {
                  collection,
                  source: listing.source || undefined,
                  sort: listing.sort === "source" ? undefined : listing.sort
                })
              }}
            />
          </div>
          <div class={given["doc"] === undefined ? "split" : "split has-panel"}>
            <DocumentList
              key={`${version} ${JSON.stringify(listing)}`}
              listing={listing}
              total={listing.source === "" ? stats?.documents : undefined}
              chosen={chosen}
              onChoose={mayWrite ? choose : undefined}
              opened={given["doc"]}
              to={(id) => href("documents", { ...given, doc: id })}
            />
            {given["doc"] !== undefined && (
              <Passages
                docId={given["doc"]}
                collection={collection}
                closed={href("documents", { ...given, doc: undefined })}
              />
            )}
          </div>
        </>
      )}
      {isDeleting && (
        <Deletion
          chosen={[...chosen.values()]}
          collection={collection}
          onDone={(deleted) => {
            setDeleting(false)
            if (deleted) again()
          }}
        />
      )}
    </div>
  )
}
