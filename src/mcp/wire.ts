// What messages look like, for the relay too: it imports nothing of the program.

/** The longest message that is accepted, in bytes. */
export const maxMessageBytes = 32 * 1024 * 1024

/** The most messages of a batch. */
export const maxBatch = 1000

export type Id = string | number

export const isId = (value: unknown): value is Id =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value))

/** Where a message of a subscription names the request that asked for it. */
export const subscriptionKey = "io.modelcontextprotocol/subscriptionId"

/** The resources that a client of the second era asks to watch. */
export const listenedTo = (params: unknown): ReadonlyArray<string> => {
  const { notifications } = (params ?? {}) as { readonly notifications?: { readonly resourceSubscriptions?: unknown } }
  const uris = notifications?.resourceSubscriptions
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : []
}
