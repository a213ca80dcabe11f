import { isUtf8 } from "node:buffer"

const declared =
  /<meta[^>]{0,300}?charset\s{0,10}=\s{0,10}["']?([a-z0-9_:.-]{2,40})|<\?xml[^>]{0,100}?encoding\s{0,5}=\s{0,5}["']([a-z0-9_:.-]{2,40})/i

/** The encoding that a page names in its first bytes, if it is known and the bytes are not UTF-8. */
export const charset = (head: Uint8Array): string | undefined => {
  if (isUtf8(head.subarray(0, Math.max(0, head.length - 3)))) return undefined
  const found = declared.exec(Buffer.from(head.subarray(0, 4096)).toString("latin1"))
  const label = found?.[1] ?? found?.[2]
  if (label === undefined) return undefined
  try {
    const { encoding } = new TextDecoder(label)
    return encoding === "utf-8" ? undefined : encoding
  } catch {
    return undefined
  }
}

export const decodeAs = (bytes: Uint8Array, label: string): string => new TextDecoder(label).decode(bytes)
