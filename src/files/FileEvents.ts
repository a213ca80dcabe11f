import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Stream from "effect/Stream"

/** Changes are not reported, or no longer; what has happened since is unknown. */
export class FileEventsLost extends Data.TaggedError("FileEventsLost")<{
  readonly reason: string
  /** What the user can do about it. */
  readonly advice?: string | undefined
}> {}

/** The operating system's notifications of file changes. */
export class FileEvents extends Context.Tag("clew/FileEvents")<
  FileEvents,
  {
    /**
     * Paths at or below the given ones where something may have changed, or of which other files may be ignored by now. The
     * first list is empty and means that changes from then on are reported. A path may come twice, or without a change. Ends
     * only by failure.
     */
    readonly watch: (paths: ReadonlyArray<string>) => Stream.Stream<ReadonlyArray<string>, FileEventsLost>
  }
>() {}
