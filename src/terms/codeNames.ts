/** The parts of a passage in which names are searched. */
export interface Shown {
  readonly heading: string
  readonly text: string
}

const word = /\S+/g
/** Symbols between two parts, or a capital after a small letter. */
const parts = /[\p{L}\p{N}](?:[_./:@{}$#=\\]+|->)[\p{L}\p{N}]|\p{Ll}\p{Lu}/u
/** The same, or a symbol in front, or brackets; a hyphen only after a single letter: `v-if`. */
const sign = new RegExp(String.raw`${parts.source}|^\p{L}-\p{L}|^[-@.$#]{1,2}\p{L}|[{}()]`, "u")
/** No number, version or date; without spaces between words, a whole question would be a name. */
const isPlain = (name: string): boolean => /^[\x21-\x7e]+$/.test(name) && !/^v?[\d.:/]+$/.test(name)
const before = new Set("\"'`([<{«“")
const after = new Set("\"'`()]>,;!?»”.:")

/** With more names than this in a query, none is used. */
const most = 8
const longest = 100

const bare = (raw: string): string => {
  let [from, to] = [0, raw.length]
  while (from < to && before.has(raw[from]!)) from++
  while (to > from && after.has(raw[to - 1]!)) to--
  return raw.slice(from, to)
}

/** The words of a query that are names in code: options, settings, functions, files. */
export const namesIn = (query: string): ReadonlyArray<string> =>
  [
    ...new Set(
      Array.from(query.slice(0, 1000).matchAll(word), ([raw]) => bare(raw)).filter(
        (name) => name.length > 2 && name.length <= longest && sign.test(name)
      )
    )
  ].slice(0, most)

const written = /[^\s"'`{}()<>[\],;]+/g

/** What is joined from several parts: names, paths, addresses, versions, times; without spaces between words, a question would be one. */
export const joinedIn = (query: string): ReadonlyArray<string> =>
  parts.test(query)
    ? [...new Set(Array.from(query.matchAll(written), ([raw]) => bare(raw)))].filter(
        (name) => parts.test(name) && /^[\x21-\x7e]+$/.test(name)
      )
    : []

/** Whether a query is nothing but names. */
export const isNames = (query: string): boolean => {
  const names = new Set(namesIn(query).filter(isPlain))
  return names.size > 0 && (query.match(word) ?? []).map(bare).every((each) => each === "" || names.has(each))
}

/** Names as code writes them: not `mRNA`, `TNF/IL-6` or `e.g`. */
const code =
  /[\p{L}\p{N}](?:_+|::|->)\p{L}|[\p{L}\p{N}]{2}[.:@$#=\\]+\p{L}{2}|\p{Ll}{2}\p{Lu}\p{Ll}|^--\p{L}|^[@$#]\p{L}/u

/** Whether a query has a name in code. */
export const hasCode = (query: string): boolean => namesIn(query).some((name) => code.test(name))

/** What may precede a name that a line defines: markup, no words. */
const markup = new Set("`*_-#<|['\"+ \t")
const widest = 8

const goesOn = /[\p{L}\p{N}_-]/u

const isWord = /[\p{L}\p{N}_]/u

/** Where the text has the name, and not a longer one that begins like it, or has it in a word: `reset_user` has no `set_user`. */
function* placesOf(text: string, name: string): Generator<number> {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    const isOpen = isWord.test(name[0]!) && isWord.test(text.charAt(at - 1))
    const isLonger = goesOn.test(name.at(-1)!) && goesOn.test(text.charAt(at + name.length))
    if (!isOpen && !isLonger) yield at
  }
}

const has = (text: string, name: string): boolean => placesOf(text, name).next().done !== true

/** Whether a line of the text begins with the name. */
const begins = (text: string, name: string): boolean => {
  for (const at of placesOf(text, name)) {
    let from = at
    while (from > 0 && at - from < widest && markup.has(text[from - 1]!)) from--
    if (from === 0 || text[from - 1] === "\n") return true
  }
  return false
}

/** What a passage that has, or defines, all the query's names gains: a share of its score. */
const usual = { named: 0.1, defined: 0.3 }
/** The same for a query of nothing but names: passages that have them as written come before those with only their parts. */
const alone = { named: 3.4, defined: 4.2 }

/** How much more a passage counts for names that occur in it; a heading or the start of a line defines a name. */
export const namesGain = (names: ReadonlyArray<string>, { heading, text }: Shown, isAlone = false): number => {
  if (names.length === 0) return 0
  const { defined, named } = isAlone ? alone : usual
  const gains = names.map((name) => (has(heading, name) || begins(text, name) ? defined : has(text, name) ? named : 0))
  return gains.reduce<number>((sum, gain) => sum + gain, 0) / names.length
}
