// Makes a segment of passages: scans their texts for words, counts the terms of words that it knows, and writes the
// terms in order with their postings. What it does not know it leaves to its caller, text/terms/scan.ts, whose rules
// it follows. block.ts and posting.ts define the layout.

// Classes of UTF-16 units, one more than in text/terms/classes.ts; 0 is not known, or half a character.
const separator: u32 = 1
const letter: u32 = 2
const connector: u32 = 3
const mark: u32 = 5

const plus: u32 = 43
const sharp: u32 = 35
const comma: u32 = 44
const dot: u32 = 46
const maxCompound: u32 = 128
const longestWord: u32 = 40

const blockBytes: u32 = 16384
/** Bytes of a posting at most, and of an entry without its postings. */
const mostPosting: u32 = 25
const mostEntry: u32 = 2048

/** Where the caller writes a term, and the classes; below are the kernel's constants. */
const scratch: usize = 1024
const classes: usize = 2048
const first: usize = classes + 65536

/** A term in UTF-8, with its postings in the current segment; `prefix` is its first eight bytes. */
@unmanaged
class Term {
  prefix: u64
  at: u32
  length: u32
  hash: u32
  segment: u32
  first: u32
  last: u32
  count: u32
  unused: u32
}
const termBytes: u32 = 40

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

/** `next` of the same term, the passage's ordinal, and the frequencies in title, heading and text. */
@unmanaged
class Posting {
  next: u32
  ordinal: u32
  title: u32
  heading: u32
  text: u32
}
const postingBytes: u32 = 20

/** An array that grows: its address, the bytes used and the bytes there are. */
@unmanaged
class List {
  at: usize
  used: u32
  room: u32
}

let top: usize = first

function allocate(bytes: usize): usize {
  const at = (top + 15) & ~15
  top = at + bytes
  const pages = <i32>((top + 65535) >> 16) - memory.size()
  // By at least 1 MB, so that growing is rare.
  if (pages > 0 && memory.grow(max(pages, 16)) < 0 && memory.grow(pages) < 0) unreachable()
  return at
}

function list(room: u32): List {
  const made = changetype<List>(allocate(12))
  made.at = allocate(room)
  made.used = 0
  made.room = room
  return made
}

/** Makes room for more bytes, and returns their place from the list's beginning. */
function extend(to: List, bytes: u32): u32 {
  const at = to.used
  to.used = at + bytes
  if (to.used > to.room) {
    const room = max(2 * to.room, to.used)
    const moved = allocate(room)
    memory.copy(moved, to.at, at)
    to.at = moved
    to.room = room
  }
  return at
}

const termList = list(1024 * termBytes)
const termSlots = list(4 * 4096)
const termText = list(16384)
const wordList = list(1024 * wordBytes)
const wordSlots = list(4 * 4096)
const wordText = list(32768)
const lists = list(16384)
const postings = list(8192 * postingBytes)
const used = list(4 * 2048)
const pending = list(256)
const input = list(16384)
const sorting = list(16384)
const merging = list(16384)
const entry = list(16384)
const block = list(3 * blockBytes)

let segment: u32 = 0
let termCount: u32 = 0
let wordCount: u32 = 0
let ordinal: u32 = 0
let field: u32 = 0
let language: u32 = 0
let counted: u32 = 0

function termAt(number: u32): Term {
  return changetype<Term>(termList.at + number * termBytes)
}

function wordAt(number: u32): Word {
  return changetype<Word>(wordList.at + number * wordBytes)
}

function postingAt(number: u32): Posting {
  return changetype<Posting>(postings.at + number * postingBytes)
}

function mix(hash: u32, unit: u32): u32 {
  return (hash ^ unit) * 0x9e3779b1
}

function slotOf(hash: u32, slots: List): u32 {
  return (hash ^ (hash >>> 15)) & ((slots.room >>> 2) - 1)
}

function put(slots: List, hash: u32, number: u32): void {
  const last = (slots.room >>> 2) - 1
  let slot = slotOf(hash, slots)
  while (load<u32>(slots.at + (slot << 2)) !== 0) slot = (slot + 1) & last
  store<u32>(slots.at + (slot << 2), number + 1)
}

/** Doubles a table of slots, which is then empty. */
function double(slots: List): void {
  slots.room *= 2
  slots.at = allocate(slots.room)
  memory.fill(slots.at, 0, slots.room)
}

function newPosting(): u32 {
  const made = changetype<Posting>(postings.at + extend(postings, postingBytes))
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
      if (ending === 0 || sign === plus || sign === sharp || bytes > 2 * longestWord) return leave(at)
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

/** Whether a term is before another, by bytes. */
function isBefore(a: u32, b: u32): bool {
  const x = termAt(a)
  const y = termAt(b)
  if (x.prefix !== y.prefix) return x.prefix < y.prefix
  const order = memory.compare(termText.at + x.at, termText.at + y.at, min(x.length, y.length))
  return order === 0 ? x.length < y.length : order < 0
}

let sorted: usize = 0
let next: u32 = 0

/** Sorts the segment's terms, and begins its blocks. */
export function sort(): void {
  const terms = used.used >>> 2
  sorting.used = 0
  merging.used = 0
  extend(sorting, used.used)
  extend(merging, used.used)
  memory.copy(sorting.at, used.at, used.used)
  let from = sorting.at
  let to = merging.at
  for (let width: u32 = 1; width < terms; width *= 2) {
    for (let start: u32 = 0; start < terms; start += 2 * width) {
      const middle = min(start + width, terms)
      const end = min(start + 2 * width, terms)
      let left = start
      let right = middle
      for (let place = start; place < end; place++) {
        const isRight =
          left === middle || (right < end && isBefore(load<u32>(from + (right << 2)), load<u32>(from + (left << 2))))
        const taken = isRight ? right++ : left++
        store<u32>(to + (place << 2), load<u32>(from + (taken << 2)))
      }
    }
    const before = from
    from = to
    to = before
  }
  sorted = from
  next = 0
}

let out: usize = 0

function varint(value: u32): void {
  let rest = value
  while (rest > 127) {
    store<u8>(out++, <u8>(rest & 127) | 128)
    rest >>>= 7
  }
  store<u8>(out++, <u8>rest)
}

/** Writes a term's postings to `entry`, and returns the last ordinal. */
function write(term: Term): u32 {
  entry.used = 0
  extend(entry, term.count * mostPosting)
  out = entry.at
  let previous: u32 = 0xffffffff
  let number = term.first
  for (let i: u32 = 0; i < term.count; i++) {
    const posting = postingAt(number)
    const skipped = posting.ordinal - previous - 1
    previous = posting.ordinal
    number = posting.next
    const title = posting.title
    const heading = posting.heading
    const text = posting.text
    if (text === 1 && title === 0 && heading === 0) {
      varint(2 * skipped)
      continue
    }
    varint(2 * skipped + 1)
    varint(16 * text + 4 * min(title, 3) + min(heading, 3))
    if (title >= 3) varint(title - 3)
    if (heading >= 3) varint(heading - 3)
  }
  return previous
}

/** Where the last block's first term is, and its bytes. */
let firstTerm: u32 = 0
export function firstAt(): usize {
  return termText.at + termAt(firstTerm).at
}
export function firstBytes(): u32 {
  return termAt(firstTerm).length
}
export function blockAt(): usize {
  return block.at
}

/** Writes the next block, and returns its bytes; 0 after the last. */
export function nextBlock(): u32 {
  block.used = 0
  const terms = used.used >>> 2
  let before: u32 = 0
  while (next < terms) {
    const number = load<u32>(sorted + (next << 2))
    const term = termAt(number)
    const ordinal = write(term)
    const bytes = <u32>(out - entry.at)
    const written = block.used
    if (written > 0 && written + bytes > 2 * blockBytes) break
    let shared: u32 = 0
    if (written === 0) firstTerm = number
    else {
      const last = termAt(before)
      const most = min(term.length, last.length)
      while (shared < most && load<u8>(termText.at + term.at + shared) === load<u8>(termText.at + last.at + shared))
        shared++
    }
    extend(block, mostEntry + bytes)
    const start = block.at + written
    out = start
    varint(shared)
    varint(term.length - shared)
    memory.copy(out, termText.at + term.at + shared, term.length - shared)
    out += term.length - shared
    varint(term.count)
    if (term.count > 1) varint(ordinal)
    varint(bytes)
    memory.copy(out, entry.at, bytes)
    out += bytes
    block.used = <u32>(out - block.at)
    before = number
    next++
    if (block.used >= blockBytes) break
  }
  return block.used
}
