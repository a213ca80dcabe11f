import type { WatchStatus } from "../model/Watching.ts"
import type { Sample } from "./prometheus.ts"

const gauge = (name: string, help: string, value: number, labels: Sample["labels"] = []): Sample => ({
  name: `clew_watch_${name}`,
  type: "gauge",
  help,
  value,
  labels
})

/** Metrics of a watcher; those of the last scan only after the first scan. */
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
      "Watched paths: 1, or 0 if documents are kept because the path is missing or has lost most of its files",
      held.includes(path) ? 0 : 1,
      [["path", path]]
    )
  ),
  gauge("events", "1 if the system reports changes, 0 if files are scanned now and then", state === "events" ? 1 : 0),
  gauge("files_waiting", "Changed files that have not been scanned yet", waiting),
  gauge("files_failed", "Files that could not be read or indexed", failed),
  ...(lastScanAt === undefined
    ? []
    : [gauge("last_scan_timestamp_seconds", "Time of the last scan, in seconds since 1970", lastScanAt / 1000)]),
  ...(lastScanMs === undefined
    ? []
    : [gauge("last_scan_duration_seconds", "Duration of the last scan of all files", lastScanMs / 1000)])
]
