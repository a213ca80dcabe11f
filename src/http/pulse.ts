/** What shows whether there is anybody at the other end of a connection. */
export interface Signs {
  /** The client was heard since the last beat: a message, or the answer to a ping. */
  readonly heard: boolean
  /** Bytes that the network took of all that was written. */
  readonly taken: number
  /** Bytes written that it did not take yet. */
  readonly pending: number
  /** Nothing is read from the client until it takes what is written, so that it cannot be heard. */
  readonly paused: boolean
}

/** Beats in a row without a sign that make a client count as gone: it had from one to the next to answer a ping. */
const silent = 1
/** The same for one that has an answer to read before the ping. */
const stalled = 10

/** Tells, once for each beat, whether a client is still there. A slow reader is, as long as it takes anything. */
export const makePulse = (): ((signs: Signs) => boolean) => {
  let missed = 0
  let before: Signs = { heard: true, taken: 0, pending: 0, paused: false }
  return (signs) => {
    // Where nothing was pending, it is our own ping that the network took.
    const progress = before.pending > 0 && signs.taken > before.taken
    missed = signs.heard || progress ? 0 : missed + 1
    before = signs
    return missed < (signs.paused || signs.pending > 0 ? stalled : silent)
  }
}
