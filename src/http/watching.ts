import type { WatchStatus } from "../model/Watching.ts"
import type { Sample } from "./prometheus.ts"

const gauge = (name: string, help: string, value: number, labels: Sample["labels"] = []): Sample => ({
  name: `clew_watch_${name}`,
  type: "gauge",
  help,
  value,
  labels
})

/** Figures of a watcher; those of the last scan are there once there was one. */
export const watchSamples = ({
  failed,
  held,
  lastScanAt,
  lastScanMs,
  paths,
  state,
  waiting
}: WatchStatus): ReadonlyArray<Sample> => [
  ...paths.map((path) =>
    gauge(
      "path_present",
      "Watched paths: 1, or 0 where nothing is forgotten because it is missing or has lost most of its files",
      held.includes(path) ? 0 : 1,
      [["path", path]]
    )
  ),
  gauge(
    "events",
    "1 where the system tells of changes, 0 where files are looked at now and then",
    state === "events" ? 1 : 0
  ),
  gauge("files_waiting", "Files told of that have not been looked at since", waiting),
  gauge("files_failed", "Files that could not be read or indexed", failed),
  ...(lastScanAt === undefined
    ? []
    : [
        gauge("last_scan_timestamp_seconds", "When files were last looked at, in seconds since 1970", lastScanAt / 1000)
      ]),
  ...(lastScanMs === undefined
    ? []
    : [gauge("last_scan_duration_seconds", "How long the last look at all files took", lastScanMs / 1000)])
]
