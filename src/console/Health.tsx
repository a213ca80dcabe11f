import { call, isOver } from "./api.ts"
import { commandLine, inTypeScript } from "./asking.ts"
import { useAttempt, useEvery, useGet, useLoad, useMay, useShell } from "./hooks.ts"
import { bytes, seconds, when } from "./matching.ts"
import { Columns, CopyAs, Facts, Progress, Track, Trouble, Waiting } from "./Parts.tsx"
import type { Job, Report, Statistics } from "./wire.ts"

/** How often the figures are looked at while the page is in sight, in milliseconds. */
const again = 5000

const duration = (all: number): string => {
  const [days, hours, minutes] = [Math.floor(all / 86_400), Math.floor(all / 3600) % 24, Math.floor(all / 60) % 60]
  return days > 0
    ? `${days} d ${hours} h`
    : hours > 0
      ? `${hours} h ${minutes} min`
      : minutes > 0
        ? `${minutes} min`
        : `${all} s`
}

const answering = ({ backend, model, why }: Report["llm"]): string =>
  backend === "extractive"
    ? `none, answers are quotes${why === undefined ? "" : ` (${why})`}`
    : `${backend} ${model ?? "(the server's own model)"}`

const Index = ({ report }: { readonly report: Partial<Report> & Pick<Report, "stats"> }) => {
  const { llm, reranker, stats } = report
  const { embedding, reindexing, store, watch } = stats
  const model = `${embedding.backend} ${embedding.model}, ${embedding.dimensions} dimensions`
  const facts: ReadonlyArray<readonly [name: string, value: string | undefined]> = [
    ["Documents", stats.documents.toLocaleString("en")],
    ["Passages", stats.chunks.toLocaleString("en")],
    ["Collections", stats.collections.toLocaleString("en")],
    ["Size", `${bytes(stats.database_bytes)}: words ${bytes(stats.posting_bytes)}, codes ${bytes(stats.code_bytes)}`],
    ["Embedder", model],
    ["Model", llm && answering(llm)],
    ["Reranker", llm && (reranker ?? "none")],
    ["Store", `${store.backend} ${store.version}`],
    ["Clew", `${stats.version}, up ${duration(stats.uptime_seconds)}${stats.read_only ? ", read-only" : ""}`],
    [
      "Linkage",
      stats.linkage === undefined ? undefined : `${Math.round(100 * stats.linkage)} % of the documents name another`
    ]
  ]
  return (
    <section aria-label="The index">
      <h2>The index</h2>
      <Facts facts={facts} />
      {reindexing !== undefined && (
        <Progress label="Vectors of another embedder are made" done={reindexing.done} total={reindexing.total} />
      )}
      <h2>Watched folders</h2>
      {watch === undefined ? (
        <p class="remark">This server follows no files; clew serve --watch FOLDER does.</p>
      ) : (
        <>
          <ul>
            {watch.paths.map((path) => (
              <li key={path}>
                {path} {watch.held.includes(path) && <span class="tag warn">missing; its documents are kept</span>}
              </li>
            ))}
          </ul>
          <p class="remark">
            {watch.last_scan_at === undefined
              ? "The first scan goes on"
              : `Last scan ${when(watch.last_scan_at)}, ${seconds(watch.last_scan_ms ?? 0)}`}
            ; {watch.waiting} waiting, {watch.failed} failed
          </p>
        </>
      )}
    </section>
  )
}

const Jobs = ({ jobs, onChange }: { readonly jobs: ReadonlyArray<Job>; readonly onChange: () => void }) => {
  const mayWrite = useMay("write")
  const { attempt, failure } = useAttempt()
  const cancel = async (id: string) => {
    await attempt(() => call<Job>("DELETE", `/jobs/${encodeURIComponent(id)}`))
    onChange()
  }
  return (
    <section aria-label="Jobs">
      <h2>Jobs</h2>
      <Trouble failure={failure} />
      {jobs.length === 0 && <p class="remark">None lately.</p>}
      <ul class="jobs">
        {jobs.slice(0, 20).map((job) => (
          <li key={job.id}>
            <span>
              <b>{job.kind}</b>
              {job.collection !== undefined && ` in ${job.collection}`}
              {job.by !== undefined && ` by ${job.by}`} <small>{when(job.created_at)}</small>
            </span>
            {isOver(job) ? (
              <span class={job.state === "done" ? "mentioned" : "contradicted"}>
                {job.state === "failed" ? (job.error?.detail ?? "failed") : job.state}
              </span>
            ) : (
              <>
                <Progress
                  label={job.progress === undefined ? job.state : `${job.progress.done} ${job.progress.unit}`}
                  done={job.progress?.done ?? 0}
                  total={job.progress?.total}
                />
                {mayWrite && (
                  <button type="button" onClick={() => void cancel(job.id)}>
                    Cancel
                  </button>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const Stages = ({ stages }: { readonly stages: Report["stages"] }) => {
  const highest = Math.max(0.001, ...stages.map(({ p95_ms: p95 }) => p95))
  return (
    <section aria-label="Slowest stages">
      <h2>Slowest stages</h2>
      {stages.length === 0 ? (
        <p class="remark">Nothing was searched since the server started.</p>
      ) : (
        <div class="wide" tabIndex={0} role="group" aria-label="Table of stages">
          <table class="grid">
            <Columns names={["Stage", "Median", "95 of 100 within", "Times"]} />
            <tbody>
              {[...stages]
                .sort((a, b) => b.p95_ms - a.p95_ms)
                .map(({ count: times, p50_ms: p50, p95_ms: p95, stage }) => (
                  <tr key={stage}>
                    <th scope="row">{stage}</th>
                    <td>{p50.toFixed(2)} ms</td>
                    <td>
                      <span class="bar">
                        <Track share={p95 / highest} />
                        {p95.toFixed(2)} ms
                      </span>
                    </td>
                    <td>{times.toLocaleString("en")}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

const signs: Readonly<Record<string, string>> = { ok: "✓", warn: "!", fail: "✕" }

/** How the index and its server are. */
export const Health = () => {
  const { who } = useShell()
  // A key that is limited to collections is not told of all.
  const mayAdmin = useMay("admin") && who.collections === undefined
  // Without the right to the report there are still the figures.
  const report = useLoad<Pick<Report, "stats"> & Partial<Report>>(`report ${mayAdmin}`, async (signal) =>
    mayAdmin
      ? call<Report>("GET", "/health/report", { signal })
      : { stats: await call<Statistics>("GET", "/stats", { signal }) }
  )
  const ready = useGet<{
    readonly checks: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>
  }>("/ready")
  useEvery(again, () => {
    if (document.visibilityState === "visible") report.reload()
  })
  const { failure, value } = report
  if (failure !== undefined && value === undefined) return <Trouble failure={failure} />
  if (value === undefined) return <Waiting />
  const checks =
    value.checks ??
    Object.entries(ready.value?.checks ?? {}).map(([name, { reason, status }]) => ({
      name,
      status,
      ...(reason === undefined ? {} : { detail: reason })
    }))
  return (
    <div class="health">
      <div class="page-head">
        <p class="actions">
          <CopyAs
            request={{
              path: mayAdmin ? "/health/report" : "/stats",
              cli: commandLine("doctor"),
              mcp: { tool: "collection_info", arguments: {} },
              typescript: inTypeScript("stats", "stats")
            }}
          />
        </p>
      </div>
      <div class="health-columns">
        <div>
          <Index report={value} />
          {value.jobs !== undefined && <Jobs jobs={value.jobs} onChange={report.reload} />}
        </div>
        <div>
          <section aria-label="Checks">
            <h2>Checks</h2>
            <ul class="checks">
              {checks.map((check) => (
                <li key={check.name} class={check.status}>
                  <span class="sign" aria-hidden="true">
                    {signs[check.status] ?? "✕"}
                  </span>
                  <span>
                    <b>{check.name}</b> <span class="unseen">{check.status}</span> {check.detail}
                    {"fix" in check && check.fix !== undefined && <small>{check.fix}</small>}
                  </span>
                </li>
              ))}
            </ul>
          </section>
          {value.stages !== undefined && <Stages stages={value.stages} />}
          {value.slow !== undefined && (
            <section aria-label="Slow queries">
              <h2>Slow queries</h2>
              {value.slow.length === 0 && <p class="remark">None yet.</p>}
              <ul class="slow">
                {value.slow.map((each, at) => (
                  <li key={at}>
                    <span>{each.query}</span>
                    <small>
                      {seconds(each.ms)}, {each.mode}, {when(each.at)}
                    </small>
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
      </div>
    </div>
  )
}
