/** What is cut, embedded and stored at a stretch, before others get their turn: about 20 ms of work. */
const slice = { documents: 16, characters: 50_000 }

/** Runs of a batch of a slice's size at most, in order; what is longer is alone. */
export const slices = <A>(
  batch: ReadonlyArray<A>,
  charactersOf: (each: A) => number
): ReadonlyArray<ReadonlyArray<A>> => {
  const all: Array<Array<A>> = []
  let characters = Infinity
  for (const next of batch) {
    const last = all.at(-1)
    const length = charactersOf(next)
    if (last === undefined || last.length === slice.documents || characters + length > slice.characters) {
      all.push([next])
      characters = length
    } else {
      last.push(next)
      characters += length
    }
  }
  return all
}
