import { type Address, go, href } from "./address.ts"
import { choiceIn, chosenIn, filterOf, settingsOf } from "./asking.ts"
import { query } from "./api.ts"
import { useGet, useText } from "./hooks.ts"
import { Columns, Facts, Field, Track, Trouble, Waiting } from "./Parts.tsx"
import type { Hit, Why } from "./wire.ts"

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`
const ranked = (rank: number | undefined): string => (rank === undefined ? "beyond the leg's depth" : `rank ${rank}`)

/** A row of the table: what one part added. */
const Part = ({
  by,
  part,
  rank,
  score
}: Partial<Record<"rank" | "score", string>> & {
  readonly by: string
  readonly part: { readonly contribution: number }
}) => (
  <tr>
    <th scope="row">{by}</th>
    <td>{rank}</td>
    <td>{score}</td>
    <td>{signed(part.contribution)}</td>
  </tr>
)

/** What each part added to a hit's score. */
export const WhyHit = ({ hit }: { readonly hit: Hit }) => {
  const { explain, score, via } = hit
  if (explain === undefined) return <p class="remark">The server did not explain this result.</p>
  const { keyword, likeness, queries, recency, rerank, vector } = explain
  const terms = keyword?.terms ?? []
  const highest = Math.max(...terms.map((term) => term.score), 0.001)
  return (
    <div class="why" role="group" aria-label="Why it ranks here" tabIndex={0}>
      <table>
        <caption class="unseen">What adds up to its score</caption>
        <Columns names={["By", "Rank there", "Score there", "Adds"]} />
        <tbody>
          {vector && <Part by="Meaning" rank={ranked(vector.rank)} score={vector.score.toFixed(3)} part={vector} />}
          {keyword && <Part by="Words" rank={ranked(keyword.rank)} score={keyword.score.toFixed(2)} part={keyword} />}
          {likeness && <Part by="Words alike" score={likeness.score.toFixed(3)} part={likeness} />}
          {recency && <Part by="Age" score={`${Math.round(recency.age_days)} days`} part={recency} />}
          {(queries ?? []).map((each) => (
            <Part
              key={each.query}
              by={each.query === 0 ? "The question" : `Further question ${each.query}`}
              rank={ranked(each.rank)}
              part={each}
            />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{rerank === undefined ? "Score" : "The reranker's score"}</th>
            <td>{rerank === undefined ? "" : `was rank ${rerank.rank}, ${rerank.score.toFixed(3)}`}</td>
            <td />
            <td>{score.toFixed(3)}</td>
          </tr>
        </tfoot>
      </table>
      {terms.length > 0 && (
        <ul class="terms" aria-label="Terms that matched">
          {terms.map((term) => (
            <li key={term.term}>
              <span class="term">
                {term.term}
                {term.near === true && " (similar spelling)"}
              </span>
              <Track share={Math.max(0, term.score / highest)} />
              <span class="told">
                {term.score.toFixed(2)},{" "}
                {[
                  term.title > 0 ? `${term.title}× title` : "",
                  term.heading > 0 ? `${term.heading}× heading` : "",
                  term.text > 0 ? `${term.text}× text` : ""
                ]
                  .filter((part) => part !== "")
                  .join(", ")}
              </span>
            </li>
          ))}
        </ul>
      )}
      {keyword?.name_bonus !== undefined && keyword.name_bonus > 0 && (
        <p class="remark">Names written as in the question: +{Math.round(100 * keyword.name_bonus)} %</p>
      )}
      {via !== undefined && (
        <p class="remark">
          The graph led here:{" "}
          {via
            .map(
              ({ entity, source }) => `${entity}${source === undefined ? " (named in the question)" : `, in ${source}`}`
            )
            .join(" → ")}
        </p>
      )}
    </div>
  )
}

const legText = (leg: Why["hybrid"]): string =>
  leg?.rank !== undefined
    ? `rank ${leg.rank}${leg.score === undefined ? "" : `, score ${leg.score.toFixed(3)}`}`
    : leg?.score !== undefined
      ? `not among the first hundred, score ${leg.score.toFixed(3)}`
      : "not found"

const Answer = ({ why }: { readonly why: Why }) =>
  why.indexed ? (
    <div class="why" role="group" aria-label="Why it is not here">
      <p>
        <b>{why.source}</b> is indexed{why.collection !== undefined && `, in collection ${why.collection}`}.
      </p>
      {why.filtered_out === true && <p>The filter excludes it{why.hint !== undefined && `: ${why.hint}`}.</p>}
      {why.folded_into !== undefined && <p>{why.folded_into} says the same, and has its place in the list.</p>}
      <Facts
        facts={[
          ["In the list", legText(why.hybrid)],
          ["By meaning", why.degraded ?? legText(why.vector)],
          ["By words", legText(why.keyword)],
          [
            "Relevance",
            why.relevance === undefined ? undefined : `${Math.round(100 * why.relevance)} % likely to answer`
          ],
          ["Graph", why.via],
          ...(why.terms ?? []).map(
            ({ score, term }) => [term, score === 0 ? "does not occur in it" : `+${score.toFixed(2)}`] as const
          )
        ]}
      />
      {why.ahead !== undefined && why.ahead.length > 0 && (
        <p class="remark">
          Ranked above it: {why.ahead.map(({ place, score }) => `${place} (${score.toFixed(3)})`).join(", ")}
        </p>
      )}
    </div>
  ) : (
    <p class="why">
      <b>{why.source}</b> is not indexed{why.reason !== undefined && `: ${why.reason}`}
    </p>
  )

/** Why a document that somebody expected is not among the results. */
export const WhyNot = ({ given }: Pick<Address, "given">) => {
  const { c: collection, f, q, why: asked } = given
  const [source, setSource] = useText(asked ?? "")
  const { alpha, fusion } = settingsOf(choiceIn(given))
  const filter = JSON.stringify(filterOf(chosenIn(f)))
  const { failure, isCurrent, isLoading, value } = useGet<Why>(
    asked === undefined ? undefined : `/why${query({ query: q, source: asked, collection, filter, alpha, fusion })}`
  )
  return (
    <details class="why-not" open={asked !== undefined}>
      <summary>Why is a document not here?</summary>
      <form class="inline" onSubmit={() => go(href("search", { ...given, why: source.trim() }))}>
        <Field label="Its source" placeholder="docs/tides.md" value={source} maxLength={4096} onText={setSource} />
        <button type="submit">Explain</button>
      </form>
      {isLoading && !isCurrent && <Waiting rows={2} />}
      <Trouble failure={failure} />
      {value && isCurrent && <Answer why={value} />}
    </details>
  )
}
