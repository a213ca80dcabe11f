import { useEffect, useState } from "preact/hooks"
import { href } from "./address.ts"
import { asFailure, begin, call, type Failure } from "./api.ts"
import { inTypeScript } from "./asking.ts"
import { useGet, useMay, useShell } from "./hooks.ts"
import { count, when } from "./matching.ts"
import { Confirm, CopyAs, Dialog, Progress, Trouble, Waiting } from "./Parts.tsx"
import type { Collection, Collections, Deleted, Job } from "./wire.ts"

/** How often a change of embedder that this page did not start is looked at, in milliseconds. */
const again = 2000

const Drop = ({ collection, onDone }: { readonly collection: Collection; readonly onDone: () => void }) => {
  const [failure, fail] = useState<Failure>()
  const run = async () => {
    try {
      await call<Deleted>("DELETE", `/collections/${encodeURIComponent(collection.name)}`)
      onDone()
    } catch (error) {
      fail(asFailure(error))
    }
  }
  return (
    <Dialog title={`Drop ${collection.name}?`} onClose={onDone}>
      <Confirm action="Drop" asked={collection.documents} onConfirm={() => void run()} onKeep={onDone}>
        <p>
          Its {count(collection.documents, "document")} with {count(collection.chunks, "passage")} will be gone from the
          index.
        </p>
        {failure && <Trouble failure={failure} />}
      </Confirm>
    </Dialog>
  )
}

/** Collections: how large they are, and who makes their vectors. */
export const CollectionList = () => {
  const mayWrite = useMay("write")
  const mayAdmin = useMay("admin")
  const { announce, who } = useShell()
  const { failure, reload, value } = useGet<Collections>("/collections")
  const [name, setName] = useState("")
  const [wrong, setWrong] = useState<Failure>()
  const [dropping, drop] = useState<Collection>()
  const [jobs, setJobs] = useState<ReadonlyMap<string, Job | undefined>>(new Map())
  const isChanging = value?.collections.some(({ reindexing }) => reindexing !== undefined) === true

  useEffect(() => {
    if (!isChanging) return undefined
    const timer = setInterval(reload, again)
    return () => clearInterval(timer)
  }, [isChanging])

  const create = async () => {
    try {
      setWrong(undefined)
      await call("POST", "/collections", { body: { name: name.trim() } })
      setName("")
      announce("Created")
      reload()
    } catch (error) {
      setWrong(asFailure(error))
    }
  }
  const reindex = async (of: string) => {
    const note = (job: Job | undefined) => setJobs((before) => new Map(before).set(of, job))
    try {
      setWrong(undefined)
      await begin("POST", `/collections/${encodeURIComponent(of)}/reindex`, {}, note)
      announce("Its vectors are made anew")
    } catch (error) {
      setWrong(asFailure(error))
    }
    note(undefined)
    reload()
  }
  return (
    <section aria-label="Collections">
      {(failure ?? wrong) && <Trouble failure={(failure ?? wrong)!} />}
      {value === undefined && failure === undefined && <Waiting />}
      {value !== undefined && (
        <div class="wide" tabIndex={0} role="group" aria-label="Table of collections">
          <table class="grid">
            <thead>
              <tr>
                <th scope="col">Collection</th>
                <th scope="col">Documents</th>
                <th scope="col">Passages</th>
                <th scope="col">Embedder</th>
                <th scope="col">Created</th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.collections.map((each) => {
                const job = jobs.get(each.name)
                const progress = job?.progress ?? each.reindexing
                return (
                  <tr key={each.name}>
                    <th scope="row">
                      <a href={href("documents", { c: each.name === "default" ? undefined : each.name })}>
                        {each.name}
                      </a>
                    </th>
                    <td>{each.documents.toLocaleString("en")}</td>
                    <td>{each.chunks.toLocaleString("en")}</td>
                    <td>
                      {each.embedding.backend} {each.embedding.model}, {each.embedding.dimensions}
                      {(job !== undefined || each.reindexing !== undefined) && (
                        <Progress label="Vectors are made anew" done={progress?.done ?? 0} total={progress?.total} />
                      )}
                    </td>
                    <td>{when(each.created_at)}</td>
                    <td class="actions">
                      {mayAdmin && (
                        <button
                          type="button"
                          class="quiet"
                          disabled={job !== undefined}
                          onClick={() => void reindex(each.name)}
                          title="Makes its vectors with the embedder of the configuration"
                        >
                          Change embedder
                        </button>
                      )}
                      {mayAdmin && each.name !== "default" && (
                        <button type="button" class="quiet" onClick={() => drop(each)}>
                          Drop…
                        </button>
                      )}
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
      <div class="tools">
        {mayWrite && who.collections === undefined && (
          <form
            class="inline"
            onSubmit={(event) => {
              event.preventDefault()
              if (name.trim() !== "") void create()
            }}
          >
            <label>
              <span class="unseen">Name of a new collection</span>
              <input
                value={name}
                maxLength={64}
                placeholder="Name of a new collection"
                onInput={(event) => setName(event.currentTarget.value)}
              />
            </label>
            <button type="submit">Create</button>
          </form>
        )}
        <CopyAs
          request={{
            method: "GET",
            path: "/collections",
            cli: "clew collections",
            mcp: { tool: "collection_info", arguments: {} },
            typescript: inTypeScript("collections", "collections")
          }}
        />
      </div>
      {dropping !== undefined && (
        <Drop
          collection={dropping}
          onDone={() => {
            drop(undefined)
            reload()
          }}
        />
      )}
    </section>
  )
}
