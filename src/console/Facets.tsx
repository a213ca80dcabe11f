import { useState } from "preact/hooks"
import type { Chosen } from "./asking.ts"
import type { Facets, FacetValue } from "./wire.ts"

const titles: Readonly<Record<string, string>> = {
  folder: "Folder",
  format: "Format",
  collection: "Collection",
  indexed: "Indexed in"
}

const most = 6

const isSame = ([name, value]: Chosen, other: string, text: FacetValue["value"]): boolean => name === other && value === text

interface Props {
  readonly facets: Facets | undefined
  readonly chosen: ReadonlyArray<Chosen>
  readonly onChange: (chosen: ReadonlyArray<Chosen>) => void
}

const Facet = ({ chosen, name, onChange, others, values }: Omit<Props, "facets"> & { readonly name: string; readonly values: ReadonlyArray<FacetValue>; readonly others: number }) => {
  const [isWhole, showWhole] = useState(false)
  const picked = chosen.filter(([each]) => each === name)
  // What is chosen stays in sight, whatever else matches.
  const missing = picked.filter(([, value]) => !values.some((each) => each.value === value))
  const shown = isWhole ? values : values.filter((each, at) => at < most || picked.some((one) => isSame(one, name, each.value)))
  const rest = values.length - shown.length
  return (
    <fieldset class="facet">
      <legend>{titles[name] ?? name}</legend>
      {missing.map((one) => (
        <label key={String(one[1])}>
          <input type="checkbox" checked onChange={() => onChange(chosen.filter((each) => each !== one))} />
          <span class="name">{String(one[1])}</span>
        </label>
      ))}
      {shown.map(({ count, filter, value }) => {
        const isOn = picked.some((one) => isSame(one, name, value))
        return (
          <label key={String(value)}>
            <input
              type="checkbox"
              checked={isOn}
              onChange={() =>
                onChange(isOn ? chosen.filter((one) => !isSame(one, name, value)) : [...chosen, [name, value, filter]])
              }
            />
            <span class="name" title={String(value)}>
              {value === "" ? "none" : String(value)}
            </span>
            <span class="count">{count.toLocaleString("en")}</span>
          </label>
        )
      })}
      {rest > 0 && (
        <button type="button" class="link" onClick={() => showWhole(true)}>
          {rest} more
        </button>
      )}
      {isWhole && others > 0 && <p class="remark">and {others.toLocaleString("en")} further values</p>}
    </fieldset>
  )
}

/** By what the matching documents could be narrowed, with how many there are of each. */
export const FacetList = ({ chosen, facets, onChange }: Props) => {
  const [isOpen, open] = useState(false)
  // A facet of one value that all have narrows nothing.
  const names = Object.entries(facets ?? {}).filter(
    ([name, { others, values }]) => values.length + others > 1 || chosen.some(([each]) => each === name)
  )
  const lost = chosen.filter(([name]) => !names.some(([each]) => each === name))
  if (names.length === 0 && chosen.length === 0) return <div class="facets" />
  return (
    <div class={isOpen ? "facets is-open" : "facets"}>
      <button type="button" class="quiet only-narrow" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        Filters{chosen.length > 0 && ` (${chosen.length})`}
      </button>
      <div class="list" role="group" aria-label="Filters">
        {chosen.length > 0 && (
          <p>
            <button type="button" class="link" onClick={() => onChange([])}>
              Clear filters
            </button>
          </p>
        )}
        {names.map(([name, { others, values }]) => (
          <Facet key={name} name={name} values={values} others={others} chosen={chosen} onChange={onChange} />
        ))}
        {[...new Set(lost.map(([name]) => name))].map((name) => (
          <Facet key={name} name={name} values={[]} others={0} chosen={chosen} onChange={onChange} />
        ))}
      </div>
    </div>
  )
}
