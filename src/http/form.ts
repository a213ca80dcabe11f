import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { decodeField, make, type MultipartError, type PartInfo } from "multipasta"
import { type promises, constants } from "node:fs"
import { open } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { badField, InvalidRequest, MalformedBody } from "../api/errors.ts"
import { StoreUnavailable } from "../Store.ts"
import { bodyStream } from "./body.ts"

/** A file of a form: the name that the client gave it, and where it is kept, under another name. */
export interface FormFile {
  readonly name: string
  readonly path: string
}

export interface Form {
  readonly files: ReadonlyArray<FormFile>
  readonly fields: ReadonlyMap<string, string>
}

/** Bytes of a field that is no file. */
const longestField = 16_384

/** The end of a quoted text that begins at `from`, after its quote. */
const quotedFrom = (text: string, from: number): readonly [value: string, end: number] => {
  let value = ""
  let at = from
  for (; at < text.length && text[at] !== '"'; at++) {
    // Of what curl escapes; browsers escape with %.
    if (text[at] === "\\" && (text[at + 1] === '"' || text[at + 1] === "\\")) at++
    value += text[at]
  }
  return [value, at + 1]
}

/**
 * A parameter of Content-Disposition, with any characters. Of a name, browsers (HTML, "multipart/form-data") percent-encode
 * quotes and line ends only.
 */
export const parameterOf = (disposition: string, wanted: string): string | undefined => {
  let at = disposition.indexOf(";")
  while (at >= 0 && at < disposition.length) {
    const equals = disposition.indexOf("=", at)
    if (equals < 0) return undefined
    const name = disposition
      .slice(at + 1, equals)
      .trim()
      .toLowerCase()
    const isQuoted = disposition[equals + 1] === '"'
    const semicolon = disposition.indexOf(";", equals)
    const bare = [disposition.slice(equals + 1, semicolon < 0 ? undefined : semicolon).trim(), semicolon] as const
    const [value, end] = isQuoted ? quotedFrom(disposition, equals + 2) : bare
    if (name === wanted) {
      return isQuoted ? value.replaceAll("%22", '"').replaceAll(/%0D/gi, "\r").replaceAll(/%0A/gi, "\n") : value
    }
    if (!isQuoted) {
      at = semicolon
      continue
    }
    at = disposition.indexOf(";", end)
  }
  return undefined
}

const dispositionOf = ({ headers }: PartInfo): string => {
  const found = headers["content-disposition"]
  return typeof found === "string" ? found : (found?.[0] ?? "")
}

const nameOf = (info: PartInfo): string | undefined => parameterOf(dispositionOf(info), "filename")

/** What a part makes us do. */
type Step =
  | { readonly _tag: "Begin"; readonly name: string }
  | { readonly _tag: "Write"; readonly chunk: Uint8Array }
  | { readonly _tag: "End" }

const fault = (error: MultipartError, mostFiles: number): MalformedBody | InvalidRequest => {
  if (error._tag !== "ReachedLimit") {
    return new MalformedBody({
      reason:
        error._tag === "EndNotReached"
          ? "The form ends before its last boundary"
          : "The body is not multipart/form-data with a boundary and the headers of each part"
    })
  }
  return error.limit === "MaxParts"
    ? badField("file", `a form may have at most ${mostFiles} files (limits.max_batch); send the others in another`)
    : badField("", `a field that is no file may have at most ${longestField} bytes`)
}

const inWords: Readonly<Record<string, string>> = {
  ENOENT: "there is no such folder",
  EACCES: "permission denied",
  EROFS: "it is read-only",
  ENOSPC: "the disk is full"
}

/** The folder for temporary files has no room for what was sent, or cannot be written. */
export const cannotKeep = (error: unknown) => {
  const { cause = error } = error as { readonly cause?: unknown }
  const { code = "", message } = cause as NodeJS.ErrnoException
  return new StoreUnavailable({
    reason:
      `What was sent cannot be kept in ${tmpdir()} until it is read: ${inWords[code] ?? message}; ` +
      "start the server with a TMPDIR that can be written and has room"
  })
}

/** Fields beside the files: a few more parts than files are taken. */
const otherParts = 16

/**
 * Reads a form part by part as it arrives. Files are kept in the folder, under numbers: nothing of their names reaches the
 * file system.
 */
export const readForm = (
  request: HttpServerRequest.HttpServerRequest,
  { folder, limit, mostFiles }: { readonly folder: string; readonly limit: number; readonly mostFiles: number }
) => {
  const files: Array<FormFile> = []
  const fields = new Map<string, string>()
  let steps: Array<Step> = []
  let failed: MultipartError | undefined
  let file: promises.FileHandle | undefined
  const parser = make({
    headers: request.headers as Record<string, string>,
    maxParts: mostFiles + otherParts,
    maxFieldSize: longestField,
    isFile: (info) => nameOf(info) !== undefined,
    onField: (info, value) => void fields.set(parameterOf(dispositionOf(info), "name") ?? "", decodeField(info, value)),
    onFile: (info) => {
      steps.push({ _tag: "Begin", name: nameOf(info) ?? "" })
      return (chunk) => void steps.push(chunk === null ? { _tag: "End" } : { _tag: "Write", chunk })
    },
    onError: (error) => (failed ??= error),
    onDone: () => {}
  })

  const close = Effect.promise(async () => {
    await file?.close()
    file = undefined
  })

  const take = (step: Step): Effect.Effect<void, InvalidRequest | StoreUnavailable> =>
    Effect.gen(function* () {
      if (step._tag === "End") return yield* close
      if (step._tag === "Write") {
        return yield* Effect.tryPromise({
          try: async () => void (await file?.writeFile(step.chunk)),
          catch: cannotKeep
        })
      }
      if (files.length === mostFiles)
        return yield* fault({ _tag: "ReachedLimit", limit: "MaxParts" }, mostFiles) as InvalidRequest
      const path = join(folder, String(files.length))
      files.push({ name: step.name, path })
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
      file = yield* Effect.tryPromise({ try: () => open(path, flags, 0o600), catch: cannotKeep })
    })

  const settle = Effect.suspend((): Effect.Effect<void, InvalidRequest | MalformedBody | StoreUnavailable> => {
    if (failed !== undefined) return fault(failed, mostFiles)
    const now = steps
    steps = []
    return Effect.forEach(now, take, { discard: true })
  })

  /** The library throws at a file name that is encoded wrongly. */
  const parse = (work: () => void) =>
    Effect.zipRight(
      Effect.try({
        try: work,
        catch: () => new MalformedBody({ reason: "A part's file name is encoded wrongly" })
      }),
      settle
    )

  return Stream.runForEach(bodyStream(request, { limit, types: ["multipart/form-data"] }), (chunk) =>
    parse(() => parser.write(chunk))
  ).pipe(
    Effect.zipRight(parse(() => parser.end())),
    Effect.ensuring(close),
    Effect.map((): Form => ({ files, fields }))
  )
}
