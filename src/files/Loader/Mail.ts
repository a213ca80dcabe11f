import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { extension } from "../../chunking/format.ts"
import type { Attachment, Extracted } from "../../extraction/Extracted.ts"
import type { FileFormat, Loaded, LoadedDocument, SourceFile, Unreadable, Unsupported } from "../Loader.ts"
import type { Extract } from "./Extractor.ts"
import { openBytes } from "./read.ts"

const newline = 10
const from_ = [0x46, 0x72, 0x6f, 0x6d, 0x20]

/** The mails of a mailbox, with their first lines. `From ` at the start of a line, after a blank line, separates them. */
function* mailsOf(bytes: Uint8Array): Generator<{ readonly line: number; readonly bytes: Uint8Array }> {
  let start = -1
  let startLine = 1
  let line = 1
  let blank = true
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(newline, at)
    const next = end < 0 ? bytes.length : end + 1
    if (blank && from_.every((byte, i) => bytes[at + i] === byte)) {
      if (start >= 0) yield { line: startLine, bytes: bytes.subarray(start, at) }
      start = next
      startLine = line + 1
    }
    blank = next - at <= 1 || (next - at === 2 && bytes[at] === 13)
    at = next
    line++
  }
  if (start >= 0) yield { line: startLine, bytes: bytes.subarray(start) }
}

/** A mailbox marks lines of a mail that look like its own. */
const unmarked = (bytes: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(bytes).toString("latin1").replaceAll("\n>From ", "\nFrom "), "latin1")

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
const attachmentLimit = 50

/** Whether an attachment is a signature, or meant for one program only. */
const isPlumbing = ({ name }: Attachment): boolean => /\.(?:asc|sig|p7[cms]|pgp|dat)$/i.test(name)

/** A name without folders. */
const bare = (name: string): string => name.replace(/^.*[/\\]/s, "").slice(0, 255)

/** A mail's attachments, each with a name of its own without folders: `a.txt`, `a (2).txt`. */
const attachmentsOf = ({ attachments = [] }: Extracted): ReadonlyArray<Attachment> => {
  const named = new Map<string, Attachment>()
  for (const attachment of attachments.filter((each) => !isPlumbing(each)).slice(0, attachmentLimit)) {
    const given = bare(attachment.name)
    const ending = /\.[^.]{1,20}$/.exec(given)?.[0] ?? ""
    let name = given
    for (let number = 2; named.has(name); number++)
      name = `${given.slice(0, given.length - ending.length)} (${number})${ending}`
    named.set(name, { ...attachment, name })
  }
  return [...named.values()]
}

/** Most mails that are attached one in the other. */
const deepest = 5

/** Where in a file a mail is. */
interface Place {
  readonly record: string | undefined
  readonly line: number | undefined
  /** How many mails it is attached to, one in the other. */
  readonly depth: number
}

/**
 * Mail: one document a message, and those of its attachments, with their own names. Attachments that none of the
 * `others` reads, such as a picture, are left out.
 */
export const format = (
  extract: Extract,
  toDocument: (read: Extracted) => LoadedDocument,
  others: ReadonlyArray<FileFormat>
): FileFormat => {
  const message = (
    path: string,
    place: Place,
    bytes: Uint8Array
  ): Effect.Effect<Stream.Stream<Loaded, Unreadable>, Unreadable | Unsupported> =>
    Effect.map(extract(path, "mail", bytes), (read) =>
      Stream.concat(
        read.text === ""
          ? Stream.make<[Loaded]>({
              _tag: "Rejected",
              line: place.line ?? 1,
              record: place.record,
              reason: "it holds no text",
              isEmpty: true
            })
          : Stream.make<[Loaded]>({ ...toDocument(read), record: place.record, line: place.line }),
        Stream.flatMap(Stream.fromIterable(attachmentsOf(read)), (attachment) => attached(path, place, attachment))
      )
    )
  const attached = (path: string, place: Place, attachment: Attachment): Stream.Stream<Loaded, Unreadable> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const { depth, line, record } = place
        const file = yield* openBytes(`${path}/${attachment.name}`, attachment.bytes, Infinity)
        const name = record === undefined ? attachment.name : `${record}/${attachment.name}`
        if (extension(attachment.name) === "eml" && accepts(file)) {
          if (depth === deepest) return Stream.empty
          return yield* message(file.path, { line, record: name, depth: depth + 1 }, attachment.bytes)
        }
        const format = others.find((other) => other.accepts(file))
        if (format === undefined) return Stream.empty
        return Stream.filterMap(format.load(file), (loaded) =>
          loaded._tag === "Rejected"
            ? Option.none()
            : Option.some<Loaded>({
                ...loaded,
                record: loaded.record === undefined ? name : `${name}/${loaded.record}`
              })
        )
      })
    ).pipe(
      Stream.catchTag("Unsupported", (error) =>
        error.isLimit === true
          ? Stream.make<[Loaded]>({
              _tag: "Rejected",
              line: place.line ?? 1,
              reason: `attachment ${attachment.name}: ${error.reason}`,
              isLimit: true
            })
          : Stream.empty
      )
    )
  return {
    name: "mail",
    version: 10,
    accepts,
    load: (file) =>
      Stream.unwrap(
        Effect.map(file.bytes, (bytes) => {
          // One mail, saved out of a mailbox with the line that separated it there.
          const saved = isMailbox(file) ? bytes.subarray(bytes.indexOf(newline) + 1) : bytes
          const mails: Iterable<{ readonly line: number | undefined; readonly bytes: Uint8Array }> =
            isMailbox(file) && extension(file.path) !== "eml" ? mailsOf(bytes) : [{ line: undefined, bytes: saved }]
          return Stream.flatMap(Stream.fromIterable(mails), ({ bytes: one, line }) => {
            const record = line === undefined ? undefined : `L${line}`
            return Stream.unwrap(
              message(file.path, { record, line, depth: 0 }, isMailbox(file) ? unmarked(one) : one).pipe(
                Effect.catchTag("Unsupported", (error) =>
                  line === undefined
                    ? error
                    : Effect.succeed(
                        Stream.make<[Loaded]>({
                          _tag: "Rejected",
                          line,
                          reason: error.reason,
                          isLimit: error.isLimit,
                          isEmpty: error.reason === "it holds no text",
                          record
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
