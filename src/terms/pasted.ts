/** Frames of a stack trace of Python, Ruby, PHP, gdb, Go, JavaScript, Java, .NET or Rust. */
const frame =
  /^[ \t]*(?:Traceback \(most recent call last\)|File "[^"\n]*", line \d|from [^\s:]+:\d+:in |#\d+ +(?:0x[0-9a-f]|[^\s(]*\(\d|\{main\})|goroutine \d+ \[|[^\s:]+:\d+ \+0x[0-9a-f])|^[ \t]+at [^\s\d]/
/** What stands between them, and could be part of a question elsewhere. */
const between = /^[ \t]*(?:\d+: +[^\s:]+::|\.\.\. \d+ more|[\^~][\^~ \t]*\r?$)/
const python = /^[ \t]*File "[^"\n]*", line \d/
/** Fewer may be what a question is about, but for Python's, which nothing else looks like. */
const fewest = 2

const says = /[\p{L}\p{N}]{3}/u
const page = /<(?:!doctype )?html\b/i
const tag = /<[/!]?[a-zA-Z][^<>]{0,200}>/g

/**
 * A query without what says nothing of a message that was pasted: frames of a stack trace, and tags of an error page.
 * No page has them, and they outnumber the message.
 */
export const message = (query: string): string => {
  if (!query.includes("\n") && !page.test(query)) return query
  const lines = (page.test(query) ? query.replace(tag, " ") : query).split("\n")
  const isPython = lines.map((line) => python.test(line))
  const isTrace = isPython.includes(true) || lines.filter((line) => frame.test(line)).length >= fewest
  // Python shows the code of a line below it.
  const isLeft = (line: string, at: number) =>
    !frame.test(line) && !between.test(line) && !(isPython[at - 1] === true && line.startsWith("    "))
  const rest = (isTrace ? lines.filter(isLeft) : lines).join("\n")
  return says.test(rest) ? rest : query
}
