import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { extension } from "../../text/format.ts"
import type { Attachment } from "./extract/Extracted.ts"
import { mailsOf } from "./extract/mail/mailbox.ts"
import { toDocument } from "./Extracting.ts"
import type { Extract } from "./Extractor.ts"
import { attachmentKind } from "./attachments.ts"

const isMailbox = ({ head }: SourceFile): boolean => Buffer.from(head.subarray(0, 5)).toString("latin1") === "From "

const header = /^(?:from|to|subject|date|message-id|received|return-path|mime-version|delivered-to|x-[a-z-]{1,60}):/im

const accepts = (file: SourceFile): boolean => {
  const ending = extension(file.path)
  if (file.kind._tag !== "Text") return false
  const head = Buffer.from(file.head.subarray(0, 4096)).toString("latin1")
  if (ending === "eml") return header.test(head)
  return (ending === "mbox" || ending === "mbx") && isMailbox(file) && header.test(head)
}

/** Attachments a mail may have that are looked at. */
const most = 50

/** Mail: one document a message, and one an attachment that can be read, which is named after it. */
export const format = (extract: Extract): FileFormat => {
  const attached = (path: string, record: string | undefined, attachment: Attachment): Stream.Stream<Loaded> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const kind = yield* attachmentKind(attachment)
        if (kind === undefined) return Stream.empty
        const read = yield* extract(path, kind.kind, kind.source)
        const name = record === undefined ? attachment.name : `${record}/${attachment.name}`
        return Stream.make<[Loaded]>({ ...toDocument(read), record: name })
      }).pipe(Effect.catchAll(() => Effect.succeed(Stream.empty)))
    )
  return {
    name: "mail",
    version: 2,
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
                    Stream.flatMap(Stream.fromIterable((read.attachments ?? []).slice(0, most)), (attachment) =>
                      attached(file.path, record, attachment)
                    )
                  )
                ),
                Effect.catchTag("Unsupported", (error) =>
                  line === undefined
                    ? error
                    : Effect.succeed(Stream.make<[Loaded]>({ _tag: "Rejected", line, reason: error.reason }))
                )
              )
            )
          })
        })
      )
  }
}
