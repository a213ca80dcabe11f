import { useMemo, useState } from "preact/hooks"
import { type Address, hrefOf } from "./address.ts"
import { splitSource, when } from "./matching.ts"
import { OpenIn, SourcePath, Track } from "./Parts.tsx"
import { Excerpt, Marked } from "./Text.tsx"
import { WhyHit } from "./Why.tsx"
import type { Hit } from "./wire.ts"

const excerptLength = 420

/** A place in words: the page, the slide, the sheet, else the lines. */
export const placeText = ({
  end_line: end,
  locator,
  start_line: start
}: Pick<Hit["metadata"], "locator" | "start_line" | "end_line">): string => {
  const [, name, value] = /^#(page|slide|cell|t)=(.{1,40})$/.exec(locator ?? "") ?? []
  if (value !== undefined) return name === "t" ? `at ${value}` : `${name} ${value}`
  if (locator !== undefined) return locator.slice(1)
  return start === end ? `line ${start}` : `lines ${start}–${end}`
}

/** How likely a hit is to answer, as a bar with its number. */
const Likely = ({ relevance }: { readonly relevance: number }) => {
  const text = `${Math.round(100 * relevance)} % likely`
  return (
    <span
      class="bar"
      role="meter"
      aria-label="Likely to answer"
      aria-valuemin={0}
      aria-valuemax={1}
      aria-valuenow={relevance}
      aria-valuetext={text}
    >
      <Track share={relevance} />
      <span class="told">{text}</span>
    </span>
  )
}

export const HitItem = ({
  given,
  hit,
  onOpen,
  rank,
  words
}: Pick<Address, "given"> & {
  readonly hit: Hit
  readonly rank: number
  readonly words: ReadonlyArray<string>
  readonly onOpen: () => void
}) => {
  const [isExplained, explain] = useState(false)
  const { metadata, relevance, text } = hit
  const { heading, source, title } = metadata
  const isOpen = metadata.doc_id === given["open"] && String(metadata.chunk_index) === given["n"]
  const [folder, name] = splitSource(source)
  // While one types, the list is rendered several times, and what is marked stays the same.
  const [called, shown] = useMemo(() => {
    const headings = heading === undefined ? [] : heading.split(" > ").filter((each, at) => at > 0 || each !== title)
    return [
      <>
        <Marked text={title ?? name} words={words} />
        {headings.map((each, at) => (
          <span key={at} class="heading">
            <span class="sign"> › </span>
            <Marked text={each} words={words} />
          </span>
        ))}
      </>,
      <Excerpt source={source} text={text} words={words} limit={excerptLength} />
    ]
  }, [hit, words])
  return (
    <li class={isOpen ? "hit is-open" : "hit"} value={rank}>
      <h2>
        <a href={hrefOf(metadata, given)} data-hit onClick={onOpen} aria-current={isOpen ? "true" : undefined}>
          {called}
        </a>
      </h2>
      <p class="where">
        <SourcePath source={source}>
          {folder}
          <b>{name}</b>
        </SourcePath>
        <span>{placeText(metadata)}</span>
        {metadata.collection !== "default" && <span class="tag">{metadata.collection}</span>}
        {hit.via !== undefined && <span class="tag">by the graph</span>}
        {hit.changed === true && <span class="tag warn">changed since {when(hit.indexed_at)}</span>}
        {hit.gone === true && <span class="tag warn">file is gone</span>}
      </p>
      {shown}
      <div class="foot">
        {relevance !== undefined && <Likely relevance={relevance} />}
        <button type="button" class="link" aria-expanded={isExplained} onClick={() => explain(!isExplained)}>
          Why
        </button>
        <OpenIn source={source} line={metadata.start_line} />
        {hit.similar !== undefined && hit.similar.length > 0 && (
          <details class="copies">
            <summary>
              {hit.similar.length} more {hit.similar.length === 1 ? "says" : "say"} the same
            </summary>
            <ul>
              {hit.similar.map((each) => (
                <li key={`${each.collection} ${each.doc_id} ${each.chunk_index}`}>
                  {each.source}, {placeText(each)}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      {isExplained && <WhyHit hit={hit} />}
    </li>
  )
}
