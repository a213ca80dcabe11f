import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Stream from "effect/Stream"

/** Changes are not told of, or no more: what has happened since is unknown. */
export class FileEventsLost extends Data.TaggedError("FileEventsLost")<{
  readonly reason: string
  /** What whoever runs the program can do about it. */
  readonly advice?: string | undefined
}> {}

/** What the operating system tells of changes to files. */
export class FileEvents extends Context.Tag("clew/FileEvents")<
  FileEvents,
  {
    /**
     * Paths at or below the given ones where something may have changed; first an empty list, once all that happens from
     * then on is told of. Some may be told twice, or where nothing has changed. Ends by failure alone.
     */
    readonly watch: (paths: ReadonlyArray<string>) => Stream.Stream<ReadonlyArray<string>, FileEventsLost>
  }
>() {}
