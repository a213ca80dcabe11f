/** Work done before yielding to others: about 20 ms of chunking, embedding and storing. */
const slice = { documents: 16, characters: 50_000 }

/** Splits a batch into slices of limited size, in order; a longer document is a slice by itself. */
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
