/** How a line of a stack trace begins: of Python, Ruby, PHP, gdb, Rust or Go. */
const begins =
  /^[ \t]*(?:Traceback \(most recent call last\)|File "[^"\n]*", line \d|from [^\s:]+:\d+:in |#\d+ +(?:0x[0-9a-f]|[^\s(]*\(\d|\{main\})|\d+: +[^\s:]+::|goroutine \d+ \[)/
/** How one of JavaScript, Java or .NET ends, which begins with `at`, and a place of Go; or marks below code. */
const ends = /^(?:[ \t]+at .*[:(][^\s:(]*\d\)?|[ \t]+[^\s:]*[/\\][^\s:/\\]+:\d+(?: \+0x[0-9a-f]+)?|[ \t]+[\^~][\^~ ]*)$/
const python = /^[ \t]*File "[^"\n]*", line \d/
/** Fewer lines may be what a question is about, but for Python's, which nothing else looks like. */
const fewest = 2

const says = /[\p{L}\p{N}]{3}/u
const page = /<\/(?:html|body|head)>/i
const tag = /<\/?[a-zA-Z][^<>]{0,200}>/g

/**
 * A query without what says nothing of a message that was pasted: frames of a stack trace, and tags of an error page.
 * No page has them, and they outnumber the message.
 */
export const message = (query: string): string => {
  if (!query.includes("\n") && !page.test(query)) return query
  const lines = (page.test(query) ? query.replace(tag, " ") : query).split("\n")
  const isFrame = lines.map((line) => begins.test(line) || ends.test(line.trimEnd()))
  // Python shows the code of a line below it.
  const isCode = (at: number) => at > 0 && python.test(lines[at - 1]!) && lines[at]!.startsWith("    ")
  const isTrace = isFrame.filter(Boolean).length >= fewest || lines.some((line) => python.test(line))
  const rest = isTrace ? lines.filter((_, at) => !isFrame[at] && !isCode(at)) : lines
  return says.test(rest.join("\n")) ? rest.join("\n") : query
}
