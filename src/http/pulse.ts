/** Signs of life of a connection's client. */
export interface Signs {
  /** The client sent something since the last beat: a message or a pong. */
  readonly heard: boolean
  /** Bytes written that the network has taken. */
  readonly taken: number
  /** Bytes written that it has not taken yet. */
  readonly pending: number
  /** Reading is paused until the client takes what is written, so it cannot be heard. */
  readonly paused: boolean
}

/** Beats without a sign after which a client counts as gone: it had one interval to answer a ping. */
const silent = 1
/** The same for a client that must first read a response. */
const stalled = 10

/** Tells at each beat whether a client is still there. A slow reader counts as there while it takes anything. */
export const makePulse = (): ((signs: Signs) => boolean) => {
  let missed = 0
  let before: Signs = { heard: true, taken: 0, pending: 0, paused: false }
  return (signs) => {
    // If nothing was pending, the network only took our own ping.
    const progress = before.pending > 0 && signs.taken > before.taken
    missed = signs.heard || progress ? 0 : missed + 1
    before = signs
    return missed < (signs.paused || signs.pending > 0 ? stalled : silent)
  }
}
