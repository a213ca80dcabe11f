/** How a line of a stack trace begins: of Python, Ruby, PHP, gdb, Rust or Go. */
const begins =
  /^[ \t]*(?:Traceback \(most recent call last\)|File "[^"\n]*", line \d|from [^\s:]+:\d+:in |#\d+ +(?:0x[0-9a-f]|[^\s(]*\(\d|\{main\})|\d+: +[^\s:]+::|goroutine \d+ \[)/
/** How one of JavaScript, Java or .NET ends, which begins with `at`, and a place of Go or Rust; or marks below code. */
const place = /^[ \t]*(?:at .*[:(][^\s:(]*\d\)?|[^\s:]*[/\\][^\s:/\\]+:\d+(?: \+0x[0-9a-f]+)?|[\^~][\^~ ]*)[ \t\r]*$/
const python = /^[ \t]*File "/

const isFrame = (line: string): boolean => begins.test(line) || place.test(line)

const says = /[\p{L}\p{N}]{3}/u
const page = /<\/(?:html|body|head|div|h1)>/i
const tag = /<\/?[a-zA-Z][^<>]{0,200}>/g

/**
 * A query without what says nothing of a message that was pasted: frames of a stack trace, and tags of an error page.
 * No page has them, and they outnumber the message.
 */
export const message = (query: string): string => {
  const lines = (page.test(query) ? query.replace(tag, " ") : query).split("\n")
  // Python shows the code of a line below it.
  const isCode = (at: number) => at > 0 && python.test(lines[at - 1]!) && lines[at]!.startsWith("    ")
  const rest = lines.filter((line, at) => lines.length === 1 || !(isFrame(line) || isCode(at))).join("\n")
  return says.test(rest) ? rest : query
}

/** What identifies one occurrence: times, identifiers, addresses, numbers and absolute paths. */
const identifying = [
  /\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?/g,
  /\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,40}\b|\b0x[0-9a-f]{1,40}\b|\b(?=[a-f]{0,40}\d)[0-9a-f]{8,100}\b/g,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\b\d{5,20}\b/g,
  /(?<![\w/:.])(?:[A-Za-z]:\\|~?\/)(?:[\w.@+-]{1,100}[\\/]){1,40}[\w.-]{0,100}/g
]

/** A query without what identifies one occurrence, which a vector cannot find; unless little else is left. */
export const meaning = (query: string): string => {
  const rest = identifying.reduce((left, pattern) => left.replace(pattern, " "), query)
  return rest === query || (rest.match(/[\p{L}\p{N}]{3,}/gu)?.length ?? 0) >= 3 ? rest : query
}
