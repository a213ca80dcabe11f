import type { Ask } from "./server.ts"

export interface Part {
  readonly name: string
  readonly file?: string
  readonly content: string | Uint8Array
}

const boundary = "----clew-test-boundary"

/** A form as browsers write it; names of files go as they are. */
export const formBytes = (parts: ReadonlyArray<Part>): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ content, file, name }) => [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file === undefined ? "" : `; filename="${file.replaceAll('"', "%22")}"`}\r\n` +
          `${file === undefined ? "" : "content-type: application/octet-stream\r\n"}\r\n`
      ),
      Buffer.from(content),
      Buffer.from("\r\n")
    ]),
    Buffer.from(`--${boundary}--\r\n`)
  ])

export const formType = `multipart/form-data; boundary=${boundary}`

/** A request with a form. */
export const form = (parts: ReadonlyArray<Part>, headers: Ask["headers"] = {}): Ask => ({
  bytes: formBytes(parts),
  headers: { "content-type": formType, ...headers }
})
