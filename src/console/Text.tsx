import type { ComponentChildren, JSX } from "preact"
import { useMemo } from "preact/hooks"
import { type Block, blocksOf, type Inline, inlinesOf } from "./markdown.ts"
import type { TextSpan } from "../model/Passage.ts"
import { excerpt, matchesIn, splitSource } from "./matching.ts"

interface Marking {
  /** The words to mark. */
  readonly words: ReadonlyArray<string>
  /** The span to mark, in the text's own offsets. */
  readonly span?: TextSpan | undefined
}

const overlaps = (a: TextSpan, b: TextSpan): boolean => a.start < b.end && a.end > b.start

/** A text as text nodes: matches and the span are elements, and nothing of it is markup. */
export const Marked = ({ at = 0, span, text, words }: Marking & { readonly text: string; readonly at?: number }) => {
  const parts: Array<ComponentChildren> = []
  const inSpan = span === undefined ? undefined : { start: span.start - at, end: span.end - at }
  const plain = (from: number, to: number) => {
    if (to <= from) return
    if (inSpan === undefined || inSpan.end <= from || inSpan.start >= to) return void parts.push(text.slice(from, to))
    const [begin, end] = [Math.max(from, inSpan.start), Math.min(to, inSpan.end)]
    parts.push(text.slice(from, begin), <span class="cited">{text.slice(begin, end)}</span>, text.slice(end, to))
  }
  let done = 0
  for (const match of matchesIn(text, words)) {
    const { end, start } = match
    plain(done, start)
    const isInside = inSpan !== undefined && overlaps(match, inSpan)
    parts.push(<mark class={isInside ? "cited" : undefined}>{text.slice(start, end)}</mark>)
    done = end
  }
  plain(done, text.length)
  return <>{parts}</>
}

interface Given extends Marking {
  readonly source: string
  /** Blocks of this part alone. */
  readonly window?: TextSpan | undefined
}

/** Characters beside the window that are shown of a block that begins or ends there: a line may be a whole book. */
const beside = 2000

const widened = ({ end, start }: TextSpan): TextSpan => ({ start: Math.max(0, start - beside), end: end + beside })

const Run = ({ part, ...given }: Given & { readonly part: Inline }): JSX.Element => {
  const text = (
    <Marked text={given.source.slice(part.start, part.end)} at={part.start} words={given.words} span={given.span} />
  )
  if (part.kind === "text") return text
  if (part.kind === "code") return <code>{text}</code>
  const inner = part.inner.map((each) => <Run key={each.start} part={each} {...given} />)
  if (part.kind === "strong") return <strong>{inner}</strong>
  if (part.kind !== "link") return <em>{inner}</em>
  // No link of a document can be clicked: where it leads is only told.
  return (
    <span class="link" title={part.to}>
      {inner}
    </span>
  )
}

/** A line of text with its code, emphasis and links. */
export const Runs = ({ start, end, ...given }: Given & TextSpan) => (
  <>
    {inlinesOf(given.source, { start, end }).map((part) => (
      <Run key={part.start} part={part} {...given} />
    ))}
  </>
)

const Shown = ({ block, ...given }: Given & { readonly block: Block }) => {
  const bounds = given.window ? widened(given.window) : { start: 0, end: given.source.length }
  // The names of a table's columns are shown however far above they stand.
  const within = (text: TextSpan) =>
    overlaps(text, bounds)
      ? { start: Math.max(text.start, bounds.start), end: Math.min(text.end, bounds.end) }
      : { start: text.start, end: Math.min(text.end, text.start + beside) }
  const runs = (text: TextSpan) => <Runs {...given} {...within(text)} />
  switch (block.kind) {
    case "heading":
      return <p class={`heading h${block.level}`}>{runs(block.text)}</p>
    case "paragraph":
      return <p>{runs(block.text)}</p>
    case "quote":
      return <blockquote>{runs(block.text)}</blockquote>
    case "item":
      return (
        <p class={`item depth${block.depth}`} data-mark={/^\d/.test(block.mark) ? block.mark : "•"}>
          {runs(block.text)}
        </p>
      )
    case "rule":
      return <hr />
    case "code": {
      const { start, end } = within(block.text)
      return (
        <pre data-language={block.language === "" ? undefined : block.language.slice(0, 20)} tabIndex={0}>
          <code>
            <Marked text={given.source.slice(start, end)} at={start} words={given.words} span={given.span} />
          </code>
        </pre>
      )
    }
    case "table":
      return (
        <div class="wide" tabIndex={0} role="group" aria-label="A table of the document">
          <table>
            <tbody>
              {block.rows
                .filter((row, at) => at === 0 || row.some((cell) => overlaps(cell, bounds)))
                .map((row, at) => (
                  <tr key={at} class={at === 0 ? "head" : undefined}>
                    {row.map((cell) => (
                      <td key={cell.start}>{runs(cell)}</td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )
  }
}

/** A document's Markdown as elements, made one by one: no markup of it is ever parsed as HTML. */
export const Markdown = (given: Given) => {
  const blocks = useMemo(() => blocksOf(given.source), [given.source])
  const { span, window } = given
  return (
    <div class="prose">
      {blocks
        .filter((block) => window === undefined || overlaps(block, window))
        .map((block) => (
          <div key={block.start} class={span !== undefined && overlaps(block, span) ? "in-span" : undefined}>
            <Shown block={block} {...given} />
          </div>
        ))}
    </div>
  )
}

/** A passage's text, from a source: code as it is written, all else as Markdown. */
export const PassageText = ({ source, text, ...marking }: Marking & Record<"source" | "text", string>) =>
  isCode(source) ? (
    <pre tabIndex={0}>
      <Marked text={text} {...marking} />
    </pre>
  ) : (
    <Markdown source={text} {...marking} />
  )

/** The part of a passage's text with the most of the words. */
export const Excerpt = ({
  limit,
  source,
  text,
  words
}: Omit<Marking, "span"> & Record<"source" | "text", string> & { readonly limit: number }) => {
  const { end, start } = excerpt(text, words, limit)
  return isCode(source) ? (
    <p class="text is-code">
      {start > 0 && "… "}
      <Marked text={text.slice(start, end)} words={words} />
      {end < text.length && " …"}
    </p>
  ) : (
    <div class="text">
      <Markdown source={text} words={words} window={{ start, end }} />
    </div>
  )
}

/** A text with the numbers of its lines, as code is read. */
export const Lines = ({ source, span, window, words }: Given & { readonly window: TextSpan }) => {
  const bounds = widened(window)
  const from = Math.max(bounds.start, source.lastIndexOf("\n", window.start - 1) + 1)
  const first = useMemo(() => source.slice(0, from).split("\n").length, [source, from])
  let at = from
  return (
    <pre class="lines" tabIndex={0}>
      {source
        .slice(from, window.end)
        .split("\n")
        .map((line, index) => {
          const start = at
          at += line.length + 1
          const isInside = span !== undefined && start < span.end && start + line.length >= span.start
          return (
            <div key={start} class={isInside ? "in-span" : undefined} data-line={first + index}>
              <Marked text={line} at={start} words={words} span={span} />
              {"\n"}
            </div>
          )
        })}
    </pre>
  )
}

/** What is Markdown, or was made into it by reading the file. */
const prose =
  /\.(?:md|mdx|markdown|qmd|rmd|txt|pdf|docx?|odt|odp|ods|pptx?|xlsx?|html?|xhtml|epub|rtf|eml|mbox|ipynb|srt|vtt|tex|adoc|rst)$/i

/** Whether a source is read as lines of code rather than as text. */
export const isCode = (source: string): boolean => {
  const [, name] = splitSource(source)
  return /\.[a-z0-9]{1,10}$/i.test(name) && !prose.test(name)
}
