/** Most characters of a passage per token: bounds text that the tokenizer does not know. */
export const widthPerToken = 8

/** Scripts written without spaces, which say about four times as much per character. */
const dense = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\ud840-\ud88f\uf900-\ufaff\uff66-\uff9f]/

const denseExtra = (code: number): number =>
  code < 0x0e00
    ? 0
    : code >= 0x2e80
      ? code <= 0xd7ff || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xff66 && code <= 0xff9f)
        ? 3
        : code >= 0xd840 && code <= 0xd88f
          ? 2
          : 0
      : code <= 0x0eff || (code >= 0x1000 && code <= 0x109f) || (code >= 0x1780 && code <= 0x17ff)
        ? 1
        : 0

/** A document, and the limits of its passages. */
export interface Measure {
  readonly text: string
  /** Most tokens of a passage. */
  readonly size: number
  /** Most tokens that a passage repeats. */
  readonly overlap: number
  /** Most width of a passage: its length plus `extra`. */
  readonly width: number
  /** A longer span does not fit, whatever it holds: not to be measured. */
  readonly longest: number
  readonly count: (start: number, end: number) => number
  /** What the span's width has beyond its length: characters of dense scripts count more, a table's padding does not. */
  readonly extra: (start: number, end: number) => number
}

const runs = /-{4,}| {3,}/g
const barBefore = /\|[ :]{0,2}$/
const barAfter = /^[ :]{0,2}\|/

const isPadding = (run: string, at: number, text: string): boolean => {
  const end = at + run.length
  if (run.startsWith(" ")) return text[end] === "|"
  return barAfter.test(text.slice(end, end + 3)) && barBefore.test(text.slice(Math.max(0, at - 3), at))
}

/** What aligns a table's columns says nothing; but for it, a passage would hold few rows, or only the head. */
export const unpadded = (text: string, shown: string): string =>
  text.replace(runs, (run, at: number, whole: string) => (isPadding(run, at, whole) ? shown : run))

/** Lines of a table are rarely wider. */
const mostPadded = 8

export const measure = (
  text: string,
  options: {
    readonly size: number
    readonly overlap: number
    readonly countTokens: (text: string) => number
  }
): Measure => {
  const width = options.size * widthPerToken
  // Most texts have no such sign, which is found a hundred times as fast.
  const isPadded = text.includes("|") && unpadded(text, "").length < text.length
  const isDense = dense.test(text)
  const spare = (start: number, end: number): number => end - start - unpadded(text.slice(start, end), "").length
  return {
    text,
    size: options.size,
    overlap: options.overlap,
    width,
    longest: isPadded ? width * mostPadded : width,
    count: isPadded
      ? (start, end) => options.countTokens(unpadded(text.slice(start, end), " "))
      : (start, end) => options.countTokens(text.slice(start, end)),
    extra:
      isDense || isPadded
        ? (start, end) => (isDense ? extraWidth(text, start, end) : 0) - (isPadded ? spare(start, end) : 0)
        : () => 0
  }
}

const extraWidth = (text: string, start: number, end: number): number => {
  let extra = 0
  for (let at = start; at < end; at++) extra += denseExtra(text.charCodeAt(at))
  return extra
}

/** The cost of ending a passage at a place; in addition, a half-empty passage costs a quarter. */
export const cut = {
  /** Between paragraphs and other blocks. */
  block: 0,
  /** Before a list item, and again for each level of nesting. */
  item: 0.1,
  nesting: 0.15,
  line: 0.3,
  /** After text that introduces the next block: "as follows:", a short line without a full stop. */
  introduction: 0.8,
  sentence: 1,
  /** From this cost on, a sentence is cut. */
  clause: 2,
  word: 3,
  character: 6,
  /** After a heading, and between the head of a table and its rows. */
  heading: 50
} as const

/** A stretch of the document that no passage boundary splits. Trimmed of white space, never empty. */
export interface Unit {
  readonly start: number
  readonly end: number
  readonly tokens: number
  /** The width of a passage that it takes beyond its length. */
  readonly extra: number
  /** The cost of ending a passage after it. */
  cut: number
  /** Units of one flow are running prose, whose passages overlap; 0 is none. */
  readonly flow: number
  /** It may hold several sentences. */
  readonly several: boolean
}

/** A unit before it is measured. */
export interface Draft {
  readonly start: number
  readonly end: number
  readonly cut: number
  readonly flow: number
  readonly several?: boolean
  readonly tokens?: number
}

/** Whether a passage can hold the span. */
export const fits = (m: Measure, tokens: number, start: number, end: number): boolean =>
  tokens <= m.size && end - start <= m.longest && end - start + m.extra(start, end) <= m.width

/**
 * Adds a unit that fits. A short one is joined with its neighbour if a passage would hardly be cut between them: this
 * limits the number of units per passage, and so the time to choose its end.
 */
export const append = (m: Measure, units: Array<Unit>, unit: Unit): void => {
  const last = units.at(-1)
  if (last === undefined || !joins(m, last, unit)) {
    units.push(unit)
    return
  }
  units[units.length - 1] = {
    start: last.start,
    end: unit.end,
    tokens: last.tokens + unit.tokens,
    extra: last.extra + unit.extra,
    cut: unit.cut,
    flow: last.flow === unit.flow ? unit.flow : 0,
    several: true
  }
}

const joins = (m: Measure, last: Unit, next: Unit): boolean => {
  const before = last.end - last.start
  const after = next.end - next.start
  return (
    // Counts can only be added for pieces separated by white space.
    last.end < next.start &&
    next.end - last.start <= m.size &&
    last.tokens + next.tokens <= m.size / 4 &&
    (last.cut < cut.line
      ? Math.max(before, after) < m.size / 16
      : (last.cut < cut.clause ? before : Math.min(before, after)) < m.size / 4)
  )
}

/** Whether any two neighbours among `units[from]` to `units[to - 1]` have no white space between them. */
export const hasTightJoint = (units: ReadonlyArray<Unit>, from: number, to: number): boolean => {
  for (let at = from + 1; at < to; at++) if (units[at]?.start === units[at - 1]?.end) return true
  return false
}
