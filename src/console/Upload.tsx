import { useEffect, useRef, useState } from "preact/hooks"
import { asFailure, begin, call, type Failure } from "./api.ts"
import { useShell } from "./hooks.ts"
import { count } from "./matching.ts"
import { Dialog, Progress, Trouble } from "./Parts.tsx"
import type { Job, Uploaded } from "./wire.ts"

/** A file, and its path in what was dropped. */
interface Named {
  readonly file: File
  readonly path: string
}

/** Files and bytes of one request; the server takes at most 1000 and 32 MB. */
const mostFiles = 100
const mostBytes = 16_000_000
/** Files of one drop. */
const mostAtOnce = 20_000
const deepest = 20
/** What no one means to index. */
const isIgnored = (name: string): boolean => name.startsWith(".") || name === "node_modules"

const entriesOf = (folder: FileSystemDirectoryEntry): Promise<ReadonlyArray<FileSystemEntry>> => {
  const reader = folder.createReader()
  const all: Array<FileSystemEntry> = []
  return new Promise((resolve, reject) => {
    // It gives a hundred at a time, and none at the end.
    const read = () =>
      reader.readEntries((some) => {
        all.push(...some)
        if (some.length === 0) resolve(all)
        else read()
      }, reject)
    read()
  })
}

const filesIn = async function* (entry: FileSystemEntry, depth = 0): AsyncGenerator<Named> {
  if (isIgnored(entry.name) || depth > deepest) return
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    yield { file, path: entry.fullPath.replace(/^\//, "") }
    return
  }
  for (const each of await entriesOf(entry as FileSystemDirectoryEntry)) yield* filesIn(each, depth + 1)
}

/** The files to send, and how many there are. */
interface Chosen {
  readonly files: ReadonlyArray<Named>
  readonly count: number
}

const dropped = async (entries: ReadonlyArray<FileSystemEntry>): Promise<Chosen> => {
  const files: Array<Named> = []
  let count = 0
  for (const entry of entries) {
    for await (const each of filesIn(entry)) {
      if (++count <= mostAtOnce) files.push(each)
    }
  }
  return { files, count }
}

const listed = (files: ReadonlyArray<Named>): Chosen => ({ files, count: files.length })

/** In requests that are no larger than the server takes. */
const batchesOf = (files: ReadonlyArray<Named>): ReadonlyArray<ReadonlyArray<Named>> => {
  const batches: Array<Array<Named>> = []
  let size = Infinity
  for (const each of files) {
    if (size + each.file.size > mostBytes || batches.at(-1)!.length >= mostFiles) {
      batches.push([])
      size = 0
    }
    batches.at(-1)!.push(each)
    size += each.file.size
  }
  return batches
}

type Refused = NonNullable<Uploaded["failed"]>

interface State {
  /** How many there are, and how many of them were sent. */
  readonly files: number
  readonly done: number
  readonly indexed: number
  readonly unchanged: number
  readonly chunks: number
  readonly refused: Refused
  readonly isRunning: boolean
  readonly isCancelled?: boolean
  readonly failure?: Failure | undefined
}

/** Files of this machine are indexed: chosen by a button, or dropped on the page, also whole folders. */
export const Upload = ({
  collection,
  onIndexed
}: {
  readonly collection: string | undefined
  readonly onIndexed: () => void
}) => {
  const { announce } = useShell()
  const picker = useRef<HTMLInputElement>(null)
  const running = useRef<
    { readonly controller: AbortController; readonly add: (more: Chosen) => void; job?: string } | undefined
  >(undefined)
  const [state, setState] = useState<State>()
  const [isOver, setOver] = useState(false)

  const run = async ({ count: all, files }: Chosen) => {
    const controller = new AbortController()
    const batches = [...batchesOf(files)]
    const add = (more: Chosen) => {
      batches.push(...batchesOf(more.files))
      change({ files: now.files + more.count })
    }
    const mine: NonNullable<typeof running.current> = (running.current = { controller, add })
    let now: State = { files: all, done: 0, indexed: 0, unchanged: 0, chunks: 0, refused: [], isRunning: true }
    const change = (more: Partial<State>) => setState((now = { ...now, ...more }))
    change({})
    for (let batch = batches.shift(); batch !== undefined && !controller.signal.aborted; batch = batches.shift()) {
      const sent = batch
      const before = now.done
      const form = new FormData()
      if (collection !== undefined) form.append("collection", collection)
      for (const { file, path } of sent) form.append("file", file, path)
      const onProgress = (job: Job) => {
        mine.job = job.id
        if (job.progress !== undefined && job.progress.unit === "files") {
          change({ done: before + Math.min(job.progress.done, sent.length) })
        }
      }
      try {
        const {
          chunks,
          failed = [],
          indexed,
          skipped = [],
          unchanged
        } = await begin<Uploaded>("/files", form, onProgress, controller.signal)
        change({
          done: before + sent.length,
          indexed: now.indexed + indexed,
          unchanged: now.unchanged + unchanged,
          chunks: now.chunks + chunks,
          refused: [...now.refused, ...failed, ...skipped]
        })
      } catch (error) {
        if (controller.signal.aborted) break
        const failure = asFailure(error)
        // A batch that is refused leaves the others.
        if (failure.status === 400 || failure.status === 413 || failure.status === 422) {
          change({
            done: before + sent.length,
            refused: [...now.refused, ...sent.map(({ path }) => ({ source: path, reason: failure.message }))]
          })
        } else {
          change({ failure })
          break
        }
      }
    }
    running.current = undefined
    change({ isRunning: false, isCancelled: controller.signal.aborted })
    announce(`${count(now.indexed, "document")} indexed`)
    onIndexed()
  }
  const stop = () => {
    running.current?.controller.abort()
    const job = running.current?.job
    if (job !== undefined) void call("DELETE", `/jobs/${encodeURIComponent(job)}`).catch(() => {})
  }
  const start = (chosen: Chosen) => {
    if (chosen.count === 0) return
    if (running.current === undefined) void run(chosen)
    else running.current.add(chosen)
  }
  // Nobody would see how far it is, or could end it.
  useEffect(() => stop, [])

  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(false)
      const entries = [...event.dataTransfer!.items].flatMap((item) => item.webkitGetAsEntry() ?? [])
      const plain = [...event.dataTransfer!.files].map((file) => ({ file, path: file.name }))
      if (entries.length === 0) start(listed(plain))
      else void dropped(entries).then(start, () => announce("What was dropped could not be read"))
    }
    const mounted = new AbortController()
    const { signal } = mounted
    window.addEventListener("dragover", over, { signal })
    window.addEventListener("dragleave", leave, { signal })
    window.addEventListener("drop", drop, { signal })
    return () => mounted.abort()
  }, [collection])

  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files to index"
        onChange={(event) => {
          start(
            listed(
              [...(event.currentTarget.files ?? [])].map((file) => ({
                file,
                path: file.webkitRelativePath || file.name
              }))
            )
          )
          event.currentTarget.value = ""
        }}
      />
      <button type="button" class="primary" onClick={() => picker.current?.click()}>
        Add files
      </button>
      {isOver && (
        <div class="drop" aria-hidden="true">
          Drop to index{collection !== undefined && ` in ${collection}`}
        </div>
      )}
      {state !== undefined && (
        <Dialog
          title={
            state.isRunning
              ? "Indexing"
              : state.isCancelled
                ? "Cancelled"
                : state.done < state.files
                  ? "Not all indexed"
                  : "Indexed"
          }
          onClose={state.isRunning ? undefined : () => setState(undefined)}
        >
          {state.isRunning && (
            <Progress label={`${state.done} of ${count(state.files, "file")}`} done={state.done} total={state.files} />
          )}
          <Trouble failure={state.failure} />
          <p>
            {count(state.indexed, "document")} indexed, {count(state.chunks, "passage")}
            {state.unchanged > 0 && `; ${state.unchanged} unchanged`}
          </p>
          {!state.isRunning && state.done < state.files && (
            <p>
              {count(state.files - state.done, "file")} not sent: add the same again, or use <code>clew index</code>
            </p>
          )}
          {state.refused.length > 0 && (
            <details open={!state.isRunning}>
              <summary>{count(state.refused.length, "file")} not indexed</summary>
              <dl class="reasons" tabIndex={0}>
                {state.refused.slice(0, 200).map(({ reason, source }, at) => (
                  <div key={at}>
                    <dt>{source}</dt>
                    <dd>{reason}</dd>
                  </div>
                ))}
              </dl>
            </details>
          )}
          <p class="actions">
            {state.isRunning ? (
              <button type="button" onClick={stop}>
                Cancel
              </button>
            ) : (
              <button type="button" class="primary" onClick={() => setState(undefined)}>
                Close
              </button>
            )}
          </p>
        </Dialog>
      )}
    </>
  )
}
