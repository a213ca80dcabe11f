import { isIP } from "node:net"

/** The name in a Host header or address, without port, brackets and trailing dot; empty if invalid. */
export const nameOf = (host: string): string => {
  const lower = host.toLowerCase()
  if (lower.startsWith("[")) return /^\[([^[\]]*)\](?::\d*)?$/.exec(lower)?.[1] ?? ""
  const colon = lower.lastIndexOf(":")
  const name = colon === -1 || lower.indexOf(":") !== colon ? lower : lower.slice(0, colon)
  return name.endsWith(".") ? name.slice(0, -1) : name
}

/** The IP address in an entry of X-Forwarded-For, which may have a port; undefined if there is none. */
export const addressOf = (entry: string): string | undefined => {
  const text = entry.trim()
  if (isIP(text) !== 0) return text
  const name = nameOf(text)
  return isIP(name) === 0 ? undefined : name
}

/** Whether only this machine can reach an address. */
export const isLoopback = (host: string): boolean => {
  const name = nameOf(host)
  return name === "localhost" || name === "::1" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(name)
}

/** Whether a browser resolves a name to this machine without a name server. */
export const isLoopbackName = (name: string): boolean => isLoopback(name) || name.endsWith(".localhost")

/** The client of a request, for limits and turns: an IPv4 address, or the /64 network that an IPv6 host usually has for itself. */
export const clientOf = (address: string): string => {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1]
  if (v4 !== undefined) return v4
  if (!address.includes(":")) return address
  const [head = "", tail] = address.split("%")[0]!.split("::")
  const first = head === "" ? [] : head.split(":")
  const last = tail === undefined || tail === "" ? [] : tail.split(":")
  const groups =
    tail === undefined ? first : [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill("0"), ...last]
  return `${groups
    .slice(0, 4)
    .map((group) => group.padStart(4, "0"))
    .join(":")}::/64`
}

/** The client's address. A trusted proxy appends its client to the end of the list. */
export const clientAddress = (
  remote: string | undefined,
  forwarded: string | ReadonlyArray<string> | undefined,
  trustProxy: boolean
): string => {
  if (!trustProxy) return remote ?? ""
  const last = String(forwarded ?? "")
    .split(",")
    .at(-1)!
  return addressOf(last) ?? remote ?? ""
}
