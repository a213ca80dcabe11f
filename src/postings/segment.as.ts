// Makes a segment of passages: scans their texts for words, counts the terms of words that it knows, and writes the
// terms in order with their postings. What it does not know it leaves to its caller, terms/scan.ts, whose rules
// it follows. block.ts and bytes.ts define the layout.

import { blockAt, firstAt, firstBytes, nextBlock, sort } from "./segmentBlocks.as"
import {
  classes,
  double,
  extend,
  List,
  list,
  Posting,
  postingAt,
  postingBytes,
  postings,
  put,
  scratch,
  slotOf,
  termAt,
  termBytes,
  termList,
  termText,
  used
} from "./segmentLists.as"

export { blockAt, firstAt, firstBytes, nextBlock, sort }

// Classes of UTF-16 units, one more than in terms/classes.ts; 0 is not known, or half a character.
const separator: u32 = 1
const letter: u32 = 2
const connector: u32 = 3
const mark: u32 = 5

const plus: u32 = 43
const sharp: u32 = 35
const comma: u32 = 44
const dot: u32 = 46
const hyphen: u32 = 45
const colon: u32 = 58
const greater: u32 = 62
const maxCompound: u32 = 128
const longestWord: u32 = 40

/** A word as it is written, and the place of its terms in `lists`. */
@unmanaged
class Word {
  at: u32
  length: u32
  hash: u32
  list: u32
  terms: u32
}
const wordBytes: u32 = 20

const termSlots = list(4 * 4096)
const wordList = list(1024 * wordBytes)
const wordSlots = list(4 * 4096)
const wordText = list(32768)
const lists = list(16384)
const pending = list(256)
const input = list(16384)

let segment: u32 = 0
let termCount: u32 = 0
let wordCount: u32 = 0
let ordinal: u32 = 0
let field: u32 = 0
let language: u32 = 0
let counted: u32 = 0

function wordAt(number: u32): Word {
  return changetype<Word>(wordList.at + number * wordBytes)
}

function mix(hash: u32, unit: u32): u32 {
  return (hash ^ unit) * 0x9e3779b1
}

function newPosting(): u32 {
  extend(postings, postingBytes)
  const number = postings.used / postingBytes - 1
  const posting = postingAt(number)
  posting.next = 0
  posting.ordinal = ordinal
  posting.title = 0
  posting.heading = 0
  posting.text = 0
  return number
}

/** Counts an occurrence of a term in the current field. */
function count(number: u32): void {
  counted++
  const term = termAt(number)
  if (term.segment !== segment) {
    term.segment = segment
    term.first = newPosting()
    term.last = term.first
    term.count = 1
    const at = extend(used, 4)
    store<u32>(used.at + at, number)
  } else if (postingAt(term.last).ordinal !== ordinal) {
    const posting = newPosting()
    postingAt(term.last).next = posting
    term.last = posting
    term.count++
  }
  const at = changetype<usize>(postingAt(term.last)) + 8 + (field << 2)
  store<u32>(at, load<u32>(at) + 1)
}

function prefixOf(at: usize, length: u32): u64 {
  let prefix: u64 = 0
  for (let i: u32 = 0; i < 8; i++) prefix = (prefix << 8) | (i < length ? <u64>load<u8>(at + i) : 0)
  return prefix
}

/** The number of the term in the scratch space, which is added if it is new. */
function numberOf(length: u32): u32 {
  let hash: u32 = 0
  for (let i: u32 = 0; i < length; i++) hash = mix(hash, load<u8>(scratch + i))
  const last = (termSlots.room >>> 2) - 1
  for (let slot = slotOf(hash, termSlots); ; slot = (slot + 1) & last) {
    const number = load<u32>(termSlots.at + (slot << 2))
    if (number === 0) break
    const term = termAt(number - 1)
    if (term.hash === hash && term.length === length && memory.compare(termText.at + term.at, scratch, length) === 0) {
      return number - 1
    }
  }
  const number = termCount++
  extend(termList, termBytes)
  const at = extend(termText, length)
  memory.copy(termText.at + at, scratch, length)
  const term = termAt(number)
  term.prefix = prefixOf(scratch, length)
  term.at = at
  term.length = length
  term.hash = hash
  term.segment = 0
  if (<u32>8 * termCount > termSlots.room) {
    double(termSlots)
    for (let known: u32 = 0; known < number; known++) put(termSlots, termAt(known).hash, known)
  }
  put(termSlots, hash, number)
  return number
}

/** Begins a segment. Forgets all words and terms if there are many. */
export function begin(most: u32): void {
  segment++
  postings.used = 0
  used.used = 0
  if (wordCount < most && termCount < most) return
  wordCount = 0
  termCount = 0
  wordList.used = 0
  termList.used = 0
  wordText.used = 0
  termText.used = 0
  lists.used = 0
  memory.fill(wordSlots.at, 0, wordSlots.room)
  memory.fill(termSlots.at, 0, termSlots.room)
}

/** Begins a passage. */
export function passage(number: u32, itsLanguage: u32): void {
  ordinal = number
  language = itsLanguage
  counted = 0
}

/** Occurrences of terms in the passage so far. */
export function length(): u32 {
  return counted
}

/** Where the caller writes a text of so many UTF-16 units, followed by two zeros. */
export function space(units: u32): usize {
  input.used = 0
  extend(input, 2 * units + 4)
  return input.at
}

let here: usize = 0
let stop: usize = 0
let missedStart: usize = 0
let missedEnd: usize = 0
let missedHash: u32 = 0

/** Scans the text as a field: 0 title, 1 heading, 2 text. Returns what `resume` does. */
export function scan(units: u32, itsField: u32): i32 {
  field = itsField
  stop = input.at + 2 * units
  return resume(0)
}

function classAt(at: usize): u32 {
  return <u32>load<u8>(classes + load<u16>(at))
}

/** Whether `::` or `->` is here, which may join words. */
function joins(at: usize): bool {
  const signs = load<u32>(at)
  return signs === (colon | (colon << 16)) || signs === (hyphen | (greater << 16))
}

function leave(at: usize): i32 {
  return <i32>((at - input.at) >> 1)
}

/**
 * Continues from a place in the text. Returns -1 at its end, else the place of something that the caller scans: it
 * gives the terms to `emit`, calls `learn`, and continues after it.
 */
export function resume(from: u32): i32 {
  let at = input.at + 2 * from
  missedEnd = 0
  pending.used = 0
  while (at < stop) {
    const kind = classAt(at)
    if (kind === letter) {
      let hash = language
      let end = at
      let ending: u32 = 0
      for (;;) {
        do {
          hash = mix(hash, load<u16>(end))
          end += 2
          ending = classAt(end)
        } while (ending === letter || ending === mark)
        if (ending !== connector) break
        const after = classAt(end + 2)
        if (after !== letter && after !== 0) break
        if (after === 0 || load<u16>(end) === comma || <u32>(end - at) >= 2 * maxCompound) return leave(at)
        hash = mix(hash, load<u16>(end))
        end += 2
      }
      const sign = <u32>load<u16>(end)
      const bytes = <u32>(end - at)
      if (ending === 0 || sign === plus || sign === sharp || bytes > 2 * longestWord || joins(end)) return leave(at)
      const last = (wordSlots.room >>> 2) - 1
      let known: u32 = 0
      for (let slot = slotOf(hash, wordSlots); ; slot = (slot + 1) & last) {
        known = load<u32>(wordSlots.at + (slot << 2))
        if (known === 0) break
        const word = wordAt(known - 1)
        if (word.hash !== hash || word.length !== (bytes | (language << 16))) continue
        if (memory.compare(wordText.at + word.at, at, bytes) === 0) break
      }
      if (known === 0) {
        missedStart = at
        missedEnd = end
        missedHash = hash
        return leave(at)
      }
      const word = wordAt(known - 1)
      for (let i: u32 = 0; i < word.terms; i++) count(load<u32>(lists.at + word.list + (i << 2)))
      at = end
    } else if (kind === separator || kind === mark) at += 2
    else if (kind === connector) {
      if (load<u16>(at) === dot) {
        const after = classAt(at + 2)
        if (after === letter || after === 0) return leave(at)
      }
      at += 2
    } else return leave(at)
  }
  return -1
}

/** Counts the term in the scratch space. */
export function emit(bytes: u32): void {
  const number = numberOf(bytes)
  count(number)
  const at = extend(pending, 4)
  store<u32>(pending.at + at, number)
}

/** Remembers the emitted terms as those of the word at which the scan stopped, if it was a whole word up to `end`. */
export function learn(end: u32): void {
  if (missedEnd === 0 || missedEnd !== input.at + 2 * end) return
  const bytes = <u32>(missedEnd - missedStart)
  const number = wordCount++
  extend(wordList, wordBytes)
  const at = extend(wordText, bytes)
  memory.copy(wordText.at + at, missedStart, bytes)
  const terms = extend(lists, pending.used)
  memory.copy(lists.at + terms, pending.at, pending.used)
  const word = wordAt(number)
  word.at = at
  word.length = bytes | (language << 16)
  word.hash = missedHash
  word.list = terms
  word.terms = pending.used >>> 2
  if (<u32>8 * wordCount > wordSlots.room) {
    double(wordSlots)
    for (let known: u32 = 0; known < number; known++) put(wordSlots, wordAt(known).hash, known)
  }
  put(wordSlots, missedHash, number)
}
