import { assert, it } from "@effect/vitest"
import { makePulse, type Signs } from "../../src/http/pulse.ts"

const silence: Signs = { heard: false, taken: 0, pending: 0, paused: false }

/** Beats until the client counts as gone. */
const beats = (signs: (beat: number) => Signs): number => {
  const isThere = makePulse()
  for (let beat = 1; beat <= 100; beat++) if (!isThere(signs(beat))) return beat
  return Infinity
}

it("gives a silent client one beat", () => {
  assert.strictEqual(
    beats(() => silence),
    1
  )
  // Our own pings going out are no sign of life.
  assert.strictEqual(
    beats((beat) => ({ ...silence, taken: beat * 2 })),
    1
  )
  assert.strictEqual(
    beats(() => ({ ...silence, heard: true })),
    Infinity
  )
})

it("lets a slow reader read, however slow, and waits minutes for one that stands still", () => {
  const reading = (beat: number) => ({ ...silence, pending: 1_000_000 - beat, taken: beat })
  assert.strictEqual(beats(reading), Infinity)
  assert.strictEqual(
    beats((beat) => ({ ...reading(beat), paused: true })),
    Infinity
  )
  assert.strictEqual(
    beats(() => ({ ...silence, pending: 1000 })),
    10
  )
  assert.strictEqual(
    beats(() => ({ ...silence, paused: true })),
    10
  )
  // It went on reading once.
  assert.strictEqual(
    beats((beat) => ({ ...silence, pending: 1000, taken: beat < 8 ? 0 : 5 })),
    18
  )
})
