import * as Effect from "effect/Effect"
import { type SourceFile, type Unreadable, Unsupported } from "../Loader.ts"
import { decode } from "./decode.ts"

/** The longest string V8 makes, in UTF-16 units; no encoding here has more units than bytes. */
const longestString = 0x1fffffe8

/** A text file's whole content, decoded. */
export const content = (file: SourceFile): Effect.Effect<string, Unreadable | Unsupported> =>
  Effect.flatMap(file.bytes, (bytes) => {
    if (file.kind._tag === "Other") return new Unsupported({ path: file.path, reason: file.kind.reason })
    return bytes.length > longestString
      ? new Unsupported({ path: file.path, reason: "larger than 512 MiB, the most that can be held as one text" })
      : Effect.succeed(decode(bytes, file.kind.encoding))
  })
