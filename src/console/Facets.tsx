import { useState } from "preact/hooks"
import type { Address } from "./address.ts"
import type { Given } from "./api.ts"
import { chosenIn } from "./asking.ts"
import type { Facets, FacetValue } from "./wire.ts"

/** Of those that are not metadata, which may have any name. */
const titles: ReadonlyMap<string, string> = new Map([
  ["folder", "Folder"],
  ["format", "Format"],
  ["collection", "Collection"],
  ["indexed", "Indexed in"]
])

/** Values of a facet that are shown at first. */
const limit = 6

interface Props extends Pick<Address, "given"> {
  readonly facets: Facets | undefined
  /** Gets what changes of the address. */
  readonly onChange: (more: Given) => void
}

interface Value extends FacetValue {
  readonly isOn: boolean
}

const Facet = ({
  name,
  onToggle,
  others,
  values
}: {
  readonly name: string
  readonly values: ReadonlyArray<Value>
  readonly others: number
  readonly onToggle: (value: Value) => void
}) => {
  const [isWhole, showWhole] = useState(false)
  const visible = isWhole ? values : values.filter(({ isOn }, at) => at < limit || isOn)
  const rest = values.length - visible.length
  return (
    <fieldset class="facet">
      <legend>{titles.get(name) ?? name}</legend>
      {visible.map((each) => (
        <label key={String(each.value)}>
          <input type="checkbox" checked={each.isOn} onChange={() => onToggle(each)} />
          <span class={name === "folder" ? "name path" : "name"} title={String(each.value)}>
            <bdi>{each.value === "" ? "none" : String(each.value)}</bdi>
          </span>
          {each.count > 0 && <span class="count">{each.count.toLocaleString("en")}</span>}
        </label>
      ))}
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
export const FacetList = ({ facets = {}, given, onChange }: Props) => {
  const [isOpen, open] = useState(false)
  const { c: collection, f } = given
  const chosen = chosenIn(f)
  const named = collection === undefined ? [] : [{ value: collection, count: 0 }]
  /** A facet's values, and what is chosen of it, which stays in sight whatever else matches. */
  const valuesOf = (name: string): ReadonlyArray<Value> => {
    const picked: ReadonlyArray<FacetValue> =
      name === "collection"
        ? named
        : chosen.flatMap(([each, value, filter]) => (each === name ? [{ value, count: 0, filter }] : []))
    const counted = facets[name]?.values ?? []
    return [...picked.filter(({ value }) => !counted.some((each) => each.value === value)), ...counted].map((each) => ({
      ...each,
      isOn: picked.some(({ value }) => value === each.value)
    }))
  }
  const toggle =
    (name: string) =>
    ({ filter, isOn, value }: Value) => {
      if (name === "collection") return onChange({ c: isOn ? undefined : String(value) })
      // A folder takes the place of the one that it is in.
      const isAbove = (old: unknown) => name === "folder" && String(value).startsWith(`${old}/`)
      const others = chosen.filter(([each, old]) => each !== name || (old !== value && !isAbove(old)))
      const next = isOn || filter === undefined ? others : [...others, [name, value, filter]]
      onChange({ f: next.length === 0 ? undefined : JSON.stringify(next) })
    }
  const names = [
    ...new Set([...Object.keys(facets), ...chosen.map(([name]) => name), ...(named.length > 0 ? ["collection"] : [])])
  ]
  // A facet with one value narrows nothing.
  const useful = names
    .map((name) => ({ name, values: valuesOf(name), others: facets[name]?.others ?? 0 }))
    .filter(({ others, values }) => values.length + others > 1 || values.some(({ isOn }) => isOn))
  const picked = chosen.length + named.length
  if (useful.length === 0) return <div class="facets" />
  return (
    <div class={isOpen ? "facets is-open" : "facets"}>
      <button type="button" class="quiet only-narrow" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        Filters{picked > 0 && ` (${picked})`}
      </button>
      <div class="list" role="group" aria-label="Filters">
        {picked > 0 && (
          <p>
            <button type="button" class="link" onClick={() => onChange({ f: undefined, c: undefined })}>
              Clear filters
            </button>
          </p>
        )}
        {useful.map(({ name, others, values }) => (
          <Facet key={name} name={name} values={values} others={others} onToggle={toggle(name)} />
        ))}
      </div>
    </div>
  )
}
