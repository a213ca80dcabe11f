import { limits } from "../model/Limits.ts"
import { type Hit, type Similar, documentKey, passageKey } from "../model/SearchResult.ts"
import type { Listing } from "../model/Stored.ts"
import { type Sketch, Seen, sketch } from "./resemblance.ts"

/** Hits read beyond the places of the list, so that what is folded leaves no gap; mostly that is enough. */
const spare = 10

/** All that two legs rank. */
const most = 2 * limits.legDepth

const { end, first } = limits.graph

/** How many hits to rank for a list: relevance orders differently from scores. */
export const wantedFor = ({ fold, minRelevance, perDocument, places }: Listing): number =>
  (minRelevance > 0 ? Math.max(places, limits.topK.max) : places) + (fold || perDocument > 0 ? spare : 0)

/**
 * The places of a list, filled by hits that say different things: each hit, and what it shows with what was folded into
 * it; and how many, from the first, are open. Undefined if more than `wanted` hits have to be ranked to fill them.
 */
export const listed = (
  listing: Listing,
  ranked: ReadonlyArray<Hit>,
  relevanceOf: (hit: Hit) => number,
  wanted: number
):
  | { readonly places: ReadonlyArray<{ readonly hit: Hit; readonly shown: Hit }>; readonly open: number }
  | undefined => {
  const fit = ranked.filter(relevantTo(listing, relevanceOf))
  const { folds, isComplete, open } = folded(fit, { ...listing, limit: listing.places })
  const isPlain = !listing.fold && listing.perDocument === 0
  if (!isPlain && !isComplete && ranked.length === wanted && wanted < most) return undefined
  const places = folds.map((fold) => ({
    hit: fold.hit,
    shown: { ...unfolded(fold), ...(listing.apart === true ? {} : { relevance: relevanceOf(fold.hit) }) }
  }))
  return { places, open }
}

/** Whether a hit is as relevant as the list demands. */
export const relevantTo =
  ({ minRelevance: least }: Listing, relevanceOf: (hit: Hit) => number) =>
  (hit: Hit): boolean =>
    least <= 0 || relevanceOf(hit) >= least

/**
 * A list with those of `led`, where the graph leads, best first, from the sixth to the tenth place that repeat nothing
 * there. Each keeps the place that it has, or takes, best first, an empty one, else of what is at most as relevant the
 * place of the most relevant, which goes behind the tenth. All hits have their relevance.
 */
export const withLed = (
  led: ReadonlyArray<Hit>,
  plain: ReadonlyArray<Hit>,
  listing: Pick<Listing, "fold" | "perDocument" | "places">
): ReadonlyArray<Hit> => {
  const listed = plain.slice(0, end)
  if (led.length === 0 || listed.length < first) return plain
  const placeOf = new Map(listed.map((hit, at) => [passageKey(hit), at - first]))
  const others = new Set(led.filter((hit) => !placeOf.has(passageKey(hit))))
  const { folds, open } = folded([...listed, ...others], { ...listing, limit: listed.length + others.size })
  const saying = new Set(folds.slice(0, open).map(({ hit }) => hit))
  const places: Array<Hit | undefined> = Array.from({ length: end - first }, (_, place) => plain[first + place])
  const relevances = listed.slice(first).map(({ relevance }) => relevance)
  const free = new Set(places.keys())
  const fitting = (relevance = 0) =>
    [...free]
      .filter((place) => (relevances[place] ?? 0) <= relevance)
      .sort((a, b) => (relevances[b] ?? 1) - (relevances[a] ?? 1))[0]
  for (const hit of led) {
    const own = placeOf.get(passageKey(hit))
    const place = own ?? (saying.has(hit) ? fitting(hit.relevance) : undefined)
    if (place === undefined || !free.delete(place)) continue
    places[place] = own === undefined ? hit : { ...places[place]!, relevance: hit.relevance, via: hit.via }
  }
  const tail = places.filter((hit) => hit !== undefined)
  const taken = new Set(tail.map(passageKey))
  const rest = plain.slice(first).filter((hit) => !taken.has(passageKey(hit)))
  return [...plain.slice(0, first), ...tail, ...rest].slice(0, listing.places)
}

/** A hit, with lower-ranked hits that are folded into it. */
interface Fold {
  readonly hit: Hit
  /** The passages before and after it in its document that overlap it. */
  readonly overlapping: ReadonlyArray<Hit>
  /** Passages that say the same or nearly the same, and their overlapping neighbours that do. */
  readonly similar: ReadonlyArray<Hit>
}

interface FoldOptions extends Pick<Listing, "fold" | "perDocument" | "filled"> {
  /** Length of the list. */
  readonly limit: number
}

interface FoldedList {
  readonly folds: ReadonlyArray<Fold>
  /** How many of them, from the first, are neither folded into others nor postponed. */
  readonly open: number
  /** Whether no place is filled by a folded or postponed hit, nor would be with more hits. */
  readonly isComplete: boolean
}

interface Open {
  readonly hit: Hit
  readonly overlapping: Array<Hit>
  readonly similar: Array<Hit>
}

const alone = (hit: Hit): Open => ({ hit, overlapping: [], similar: [] })

/** Whether two passages of one document overlap word for word, under the same headings and on the same page. */
const isOverlapping = ({ passage: a }: Hit, { passage: b }: Hit): boolean => {
  if (Math.abs(a.ordinal - b.ordinal) !== 1) return false
  const [first, second] = a.ordinal < b.ordinal ? [a, b] : [b, a]
  return (
    second.start < first.end &&
    second.end > first.end &&
    JSON.stringify([first.heading, first.locator]) === JSON.stringify([second.heading, second.locator]) &&
    second.text.startsWith(first.text.slice(second.start - first.start))
  )
}

/** Texts of fewer characters say something else under another title or heading. */
const selfContained = 160

/** What is written around words in Markdown and reStructuredText: the addresses of links, the names of roles. */
const markup = /\]\([^()\s]{1,500}\)|:[a-z:]{2,30}:(?=`)|<[^<>\s]{1,500}>(?=`_)/g

/**
 * What a hit says. The same text in another format has other titles, headings and markup, so only a short one is compared
 * with those.
 */
const said = ({
  document,
  passage
}: Pick<Similar, "passage"> & { readonly document: { readonly title?: string | undefined } }) => {
  const text = passage.text.replace(markup, " ")
  return sketch(text.length < selfContained ? [document.title ?? "", ...passage.heading, text] : [text])
}

const sketches = new WeakMap<Hit["passage"], Sketch>()

/** The same of a hit, once as long as the store keeps its passage. */
const saidBy = (hit: Hit): Sketch => {
  const known = sketches.get(hit.passage) ?? said(hit)
  sketches.set(hit.passage, known)
  return known
}

/** The hits that neither are a passage nor say the same, nor stand for it or for one that does. */
export const withoutCopies = (of: Parameters<typeof said>[0], hits: ReadonlyArray<Hit>): ReadonlyArray<Hit> => {
  const seen = new Seen()
  seen.place(said(of))
  return hits.filter((hit) =>
    [hit, ...(hit.spans ?? []).map((passage) => ({ ...hit, passage })), ...(hit.similar ?? [])].every(
      (each) => seen.place(said(each)) !== 0
    )
  )
}

/**
 * The best places of a list, best first. A hit that overlaps a better one beside it, or repeats what a better one says,
 * is folded into that one. Folded and postponed hits only follow, in order, if the list would otherwise be too short.
 * The best passages of a short list are the head of those of a long one.
 */
export const folded = (hits: ReadonlyArray<Hit>, { filled, fold, limit, perDocument }: FoldOptions): FoldedList => {
  const open: Array<Open> = []
  /** By the index of the text among those seen. */
  const speakers: Array<Open> = []
  const ofDocument = new Map<string, Array<Open>>()
  const later: Array<{ readonly own: Open; readonly from?: Array<Hit> }> = []
  const seen = new Seen()
  for (const hit of hits) {
    if (open.length === limit) break
    const name = documentKey(hit)
    const own = ofDocument.get(name) ?? []
    if (fold) {
      const beside = own.find((other) => isOverlapping(other.hit, hit))
      const words = saidBy(hit)
      const place = seen.place(words)
      if (beside !== undefined) {
        if (place === undefined) speakers.push(beside)
        later.push({ own: alone(hit), from: beside.overlapping })
        // Of what is ranked beyond the list, nothing is joined to it: hits would grow with what a caller orders.
        if (open.length < (filled ?? limit)) beside.overlapping.push(hit)
        continue
      }
      const speaker = place === undefined ? undefined : speakers[place]
      if (speaker !== undefined) {
        speaker.similar.push(hit)
        later.push({ own: alone(hit), from: speaker.similar })
        continue
      }
    }
    const next = alone(hit)
    if (fold) speakers.push(next)
    if (perDocument > 0 && own.length >= perDocument) {
      later.push({ own: next })
      continue
    }
    ofDocument.set(name, [...own, next])
    open.push(next)
  }
  const filling = later.slice(0, Math.max(0, (filled ?? limit) - open.length))
  for (const { from, own } of filling) from?.splice(from.indexOf(own.hit), 1)
  return {
    folds: [...open, ...filling.map(({ own }) => own)],
    open: open.length,
    isComplete: later.length === 0 || open.length === limit
  }
}

const byPlace = (a: Hit, b: Hit): number => a.passage.ordinal - b.passage.ordinal

/** Joins overlapping passages, given in order: from the first one's start to the last one's end, word for word. */
const joined = (hits: ReadonlyArray<Hit>): Hit["passage"] => {
  const [first, ...rest] = hits.toSorted(byPlace)
  let { end, endLine, text } = first!.passage
  for (const { passage } of rest) {
    text += passage.text.slice(end - passage.start)
    end = passage.end
    endLine = Math.max(endLine, passage.endLine)
  }
  return { ...first!.passage, text, end, endLine }
}

/** Similar passages, with overlapping ones joined. */
const places = (similar: ReadonlyArray<Hit>): ReadonlyArray<Similar> => {
  const groups: Array<Array<Hit>> = []
  for (const hit of similar) {
    const name = documentKey(hit)
    const group = groups.find((all) => documentKey(all[0]!) === name && all.some((other) => isOverlapping(other, hit)))
    if (group === undefined) groups.push([hit])
    else group.push(hit)
  }
  return groups.map((group) => {
    const [{ collection, document }] = group as [Hit]
    return { collection, document, passage: joined(group) }
  })
}

/** The hit with what was folded into it: the joined text of overlapping passages, and where else the same is said. */
export const unfolded = ({ hit, overlapping, similar }: Fold): Hit => ({
  ...hit,
  ...(overlapping.length === 0
    ? {}
    : {
        passage: { ...joined([hit, ...overlapping]), ordinal: hit.passage.ordinal },
        spans: [hit, ...overlapping].sort(byPlace).map(({ passage }) => passage)
      }),
  ...(similar.length === 0 ? {} : { similar: places(similar) })
})
