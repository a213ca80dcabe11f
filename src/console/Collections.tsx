import { useState } from "preact/hooks"
import { href } from "./address.ts"
import { begin, call } from "./api.ts"
import { commandLine, inTypeScript } from "./asking.ts"
import { useAttempt, useEvery, useGet, useMay, useShell } from "./hooks.ts"
import { count, when } from "./matching.ts"
import { Columns, Confirm, CopyAs, Field, Progress, Trouble, Waiting } from "./Parts.tsx"
import type { Collection, Collections, Job } from "./wire.ts"

/** How often a change of embedder that this page did not start is looked at, in milliseconds. */
const again = 2000

/** Collections: how large they are, and who makes their vectors. */
export const CollectionList = () => {
  const mayWrite = useMay("write")
  const mayAdmin = useMay("admin")
  const { announce, who } = useShell()
  const { failure, reload, value } = useGet<Collections>("/collections")
  const [name, setName] = useState("")
  const { attempt, failure: refusal } = useAttempt()
  const [dropping, drop] = useState<Collection>()
  const [jobs, setJobs] = useState<ReadonlyMap<string, Job | undefined>>(new Map())
  const isChanging = value?.collections.some(({ reindexing }) => reindexing !== undefined) === true
  useEvery(again, reload, isChanging)

  const create = () =>
    attempt(async () => {
      await call("POST", "/collections", { body: { name: name.trim() } })
      setName("")
      announce("Created")
      reload()
    })
  const reindex = async (of: string) => {
    const note = (job: Job | undefined) => setJobs((before) => new Map(before).set(of, job))
    await attempt(async () => {
      await begin(`/collections/${encodeURIComponent(of)}/reindex`, {}, note)
      announce("Its vectors are made anew")
    })
    note(undefined)
    reload()
  }
  return (
    <section aria-label="Collections">
      <Trouble failure={failure ?? refusal} />
      {value === undefined && failure === undefined && <Waiting />}
      {value !== undefined && (
        <div class="wide" tabIndex={0} role="group" aria-label="Table of collections">
          <table class="grid">
            <Columns
              names={[
                "Collection",
                "Documents",
                "Passages",
                "Embedder",
                "Created",
                <span class="unseen">Actions</span>
              ]}
            />
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
            onSubmit={() => {
              if (name.trim() !== "") void create()
            }}
          >
            <Field label="Name of a new collection" value={name} maxLength={64} onText={setName} />
            <button type="submit">Create</button>
          </form>
        )}
        <CopyAs
          request={{
            path: "/collections",
            cli: commandLine("collections"),
            mcp: { tool: "collection_info", arguments: {} },
            typescript: inTypeScript("collections", "collections")
          }}
        />
      </div>
      {dropping !== undefined && (
        <Confirm
          title={`Drop ${dropping.name}?`}
          action="Drop"
          asked={dropping.documents}
          run={() => call("DELETE", `/collections/${encodeURIComponent(dropping.name)}`)}
          onDone={() => {
            drop(undefined)
            reload()
          }}
        >
          <p>
            Its {count(dropping.documents, "document")} with {count(dropping.chunks, "passage")} will be gone from the
            index.
          </p>
        </Confirm>
      )}
    </section>
  )
}
