import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { extension } from "../../chunking/format.ts"
import type { Attachment, Read } from "./extract/Extracted.ts"
import { mailsOf } from "./extract/mail/mailbox.ts"
import { toDocument } from "./Extracting.ts"
import type { Extract } from "./Extractor.ts"
import { openBytes } from "./bytes.ts"

const isMailbox = ({ head }: SourceFile): boolean => Buffer.from(head.subarray(0, 5)).toString("latin1") === "From "

const header = /^(?:from|to|subject|date|message-id|received|return-path|mime-version|delivered-to|x-[a-z-]{1,60}):/im

const accepts = (file: SourceFile): boolean => {
  const ending = extension(file.path)
  if (file.kind._tag !== "Text") return false
  const head = Buffer.from(file.head.subarray(0, 4096)).toString("latin1")
  if (ending === "eml") return header.test(head)
  return (ending === "mbox" || ending === "mbx") && isMailbox(file) && header.test(head)
}

/** Most attachments read from a mail. */
const most = 50

/** Whether an attachment is a signature, or meant for one program only. */
const isPlumbing = ({ name }: Attachment): boolean => /\.(?:asc|sig|p7[cms]|pgp|dat)$/i.test(name)

const attachmentsOf = ({ attachments = [] }: Read): ReadonlyArray<Attachment> =>
  attachments.filter((attachment) => !isPlumbing(attachment)).slice(0, most)

/** A name without folders. */
const bare = (name: string): string => name.replace(/^.*[/\\]/s, "").slice(0, 255)

/**
 * Mail: one document a message, and those of its attachments, with their own names. Attachments that none of the
 * `others` reads, such as a picture or an attached mail, are left out.
 */
export const format = (extract: Extract, others: ReadonlyArray<FileFormat>): FileFormat => {
  const attached = (
    path: string,
    { line, record }: { readonly record: string | undefined; readonly line: number | undefined },
    attachment: Attachment
  ): Stream.Stream<Loaded> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const file = yield* openBytes(`${path}/${bare(attachment.name)}`, attachment.bytes, Infinity)
        const format = yield* Effect.findFirst(others, (other) => other.accepts(file))
        if (format._tag === "None") return Stream.empty
        const name = record === undefined ? bare(attachment.name) : `${record}/${bare(attachment.name)}`
        return Stream.filterMap(format.value.load(file), (loaded) =>
          loaded._tag === "Rejected"
            ? Option.none()
            : Option.some<Loaded>({
                ...loaded,
                record: loaded.record === undefined ? name : `${name}/${loaded.record}`
              })
        )
      })
    ).pipe(
      Stream.catchAll((error) =>
        error._tag === "Unsupported" && error.isLimit === true
          ? Stream.make<[Loaded]>({
              _tag: "Rejected",
              line: line ?? 1,
              reason: `attachment ${bare(attachment.name)}: ${error.reason}`,
              isLimit: true
            })
          : Stream.empty
      )
    )
  return {
    name: "mail",
    version: 4,
    accepts: (file) => Effect.sync(() => accepts(file)),
    load: (file) =>
      Stream.unwrap(
        Effect.map(file.bytes, (bytes) => {
          const mails: Iterable<{ readonly line: number | undefined; readonly bytes: Uint8Array }> = isMailbox(file)
            ? mailsOf(bytes)
            : [{ line: undefined, bytes }]
          return Stream.flatMap(Stream.fromIterable(mails), ({ bytes: one, line }) => {
            const record = line === undefined ? undefined : `L${line}`
            return Stream.unwrap(
              extract(file.path, "mail", one).pipe(
                Effect.map((read) =>
                  Stream.concat(
                    Stream.make<[Loaded]>({ ...toDocument(read), record, line }),
                    Stream.flatMap(Stream.fromIterable(attachmentsOf(read)), (attachment) =>
                      attached(file.path, { record, line }, attachment)
                    )
                  )
                ),
                Effect.catchTag("Unsupported", (error) =>
                  line === undefined
                    ? error
                    : Effect.succeed(
                        Stream.make<[Loaded]>({
                          _tag: "Rejected",
                          line,
                          reason: error.reason,
                          isLimit: error.isLimit
                        })
                      )
                )
              )
            )
          })
        })
      )
  }
}
