import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Draft } from "../../model/Draft.ts"
import type { Loaded, LoadedDocument, Loader, Unreadable, Unsupported } from "../Loader.ts"
import type { Group } from "./sort.ts"
import type { Reading, Step } from "./steps.ts"

/** Reads files into steps, in order; a problem with a file ends only that file. */
export const loading = (
  loader: typeof Loader.Service,
  toDraft: (name: string | undefined, origin: string | undefined, loaded: LoadedDocument) => Draft
) => {
  const limit = (file: Reading) => {
    file.isLimited = true
    file.reader = loader.limited
  }

  /** Records why a file failed, and ends it. */
  const broken =
    (file: Reading) =>
    (error: Unreadable | Unsupported): Step => {
      if (error._tag === "Unsupported" && error.isLimit !== true) {
        file.isVoid = error.reason
        file.reader = loader.nobody
      } else {
        file.failure = error.reason
        file.isUnreadable = true
        if (error._tag === "Unsupported") limit(file)
      }
      return { _tag: "Read", file }
    }

  const stepOf = (file: Reading, loaded: Loaded, draftOf: (loaded: LoadedDocument) => Draft): Step => {
    if (loaded._tag === "Loaded") return { _tag: "Draft", draft: draftOf(loaded), file }
    if (loaded.isLimit === true) limit(file)
    return { _tag: "Rejected", file, line: loaded.line, reason: loaded.reason }
  }

  const toSteps = <R>(
    file: Reading,
    documents: Stream.Stream<Loaded, Unreadable | Unsupported, R>,
    draftOf: (loaded: LoadedDocument) => Draft
  ) =>
    documents.pipe(
      Stream.map((loaded) => stepOf(file, loaded, draftOf)),
      Stream.concat(Stream.succeed<Step>({ _tag: "Read", file })),
      Stream.catchAll((error) => Stream.succeed(broken(file)(error)))
    )

  const documentsIn = (file: Reading) =>
    Effect.map(loader.open(file.path), ({ documents, reader }) => {
      file.reader = reader
      return documents
    })

  const load = (file: Reading): Stream.Stream<Step> =>
    toSteps(file, Stream.unwrapScoped(documentsIn(file)), (loaded) => toDraft(file.path, file.path, loaded))

  /** Reads a small file at once: streaming it would cost more than reading it. */
  const loadSmall = (file: Reading): Effect.Effect<ReadonlyArray<Step>> => {
    const steps: Array<Step> = []
    const keep = (loaded: Loaded) =>
      Effect.sync(() => {
        steps.push(stepOf(file, loaded, (read) => toDraft(file.path, file.path, read)))
      })
    return Effect.flatMap(documentsIn(file), Stream.runForEach(keep)).pipe(
      Effect.scoped,
      Effect.match({
        onFailure: broken(file),
        onSuccess: (): Step => ({ _tag: "Read", file })
      }),
      Effect.map((end) => [...steps, end])
    )
  }

  const loadGroup = (group: Group): Stream.Stream<Step> => {
    if (group._tag === "Steps") return Stream.fromIterable(group.steps)
    if (group._tag === "Large") return load(group.file)
    return Stream.fromIterableEffect(
      Effect.map(Effect.forEach(group.files, loadSmall, { concurrency: 4 }), (each) => each.flat())
    )
  }

  return { loadGroup, toSteps }
}
