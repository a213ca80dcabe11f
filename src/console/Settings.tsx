import { useState } from "preact/hooks"
import type { Address } from "./address.ts"
import type { Given } from "./api.ts"
import { type Choice, choiceIn, choiceTo, type Mode, topKIn } from "./asking.ts"
import { editor, editors } from "./editors.ts"
import { useGet } from "./hooks.ts"
import { Choices, Dialog } from "./Parts.tsx"
import type { Collections } from "./wire.ts"

const numbers = ["5", "10", "20", "50", "100"] as const

/** Mode, fusion and graph of a search: the part that two settings compared have, too. */
export const ChoiceFields = ({
  choice,
  onChange
}: {
  readonly choice: Choice
  readonly onChange: (choice: Choice) => void
}) => (
  <>
    <Choices<Mode>
      label="Search by"
      options={[
        ["hybrid", "Words and meaning"],
        ["meaning", "Meaning"],
        ["words", "Words"]
      ]}
      value={choice.mode}
      onChange={(mode) => onChange({ ...choice, mode })}
    />
    {choice.mode === "hybrid" && (
      <>
        <Choices
          label="Fused by"
          options={[
            ["", "Default"],
            ["rrf", "Ranks"],
            ["score", "Scores"]
          ]}
          value={choice.fusion ?? ""}
          onChange={(fusion) => onChange({ ...choice, fusion: fusion === "" ? undefined : fusion })}
        />
        <label class="slider">
          <span>
            Weight of meaning (α): <output>{choice.alpha ?? "default"}</output>
          </span>
          <input
            type="range"
            aria-label="Weight of meaning (α)"
            min={0}
            max={1}
            step={0.05}
            value={choice.alpha ?? 0.4}
            onChange={(event) => onChange({ ...choice, alpha: Number(event.currentTarget.value) })}
          />
          {choice.alpha !== undefined && (
            <button type="button" class="link" onClick={() => onChange({ ...choice, alpha: undefined })}>
              Default
            </button>
          )}
        </label>
      </>
    )}
    <Choices
      label="Graph"
      options={[
        ["", "Default"],
        ["auto", "Auto"],
        ["true", "On"],
        ["false", "Off"]
      ]}
      value={choice.graph ?? ""}
      onChange={(graph) => onChange({ ...choice, graph: graph === "" ? undefined : graph })}
    />
    <label class="slider">
      <span>
        Least relevance: <output>{choice.min === undefined ? "any" : `${Math.round(100 * choice.min)} %`}</output>
      </span>
      <input
        type="range"
        aria-label="Least relevance"
        min={0}
        max={0.95}
        step={0.05}
        value={choice.min ?? 0}
        onChange={(event) => {
          const min = Number(event.currentTarget.value)
          onChange({ ...choice, min: min === 0 ? undefined : min })
        }}
      />
    </label>
  </>
)

/** Every collection's name, with "all" first. */
export const CollectionField = ({
  isOne = false,
  onChange,
  value
}: {
  readonly value: string | undefined
  /** There is no "all". */
  readonly isOne?: boolean
  readonly onChange: (value: string | undefined) => void
}) => {
  const { value: known } = useGet<Collections>("/collections")
  const names = (known?.collections ?? []).map(({ name }) => name)
  const shown = value ?? (isOne ? "default" : "")
  const all = shown === "" || names.includes(shown) ? names : [shown, ...names]
  if (all.length < 2 && (isOne || value === undefined)) return null
  return (
    <label class="pick">
      <span>Collection</span>
      <select
        value={shown}
        onChange={({ currentTarget: { value: name } }) =>
          onChange(name === "" || (isOne && name === "default") ? undefined : name)
        }
      >
        {!isOne && <option value="">All</option>}
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** How a search is done, and what opens a file. */
export const Drawer = ({
  given,
  onChange,
  onClose
}: Pick<Address, "given"> & {
  readonly onClose: () => void
  /** Gets what changes of the address. */
  readonly onChange: (more: Given) => void
}) => {
  const [opens, setOpens] = useState(editor.get())
  return (
    <Dialog title="Settings" kind="drawer" onClose={onClose}>
      <div class="fields">
        <ChoiceFields choice={choiceIn(given)} onChange={(next) => onChange(choiceTo(next))} />
        <Choices
          label="Passages"
          options={numbers.map((each) => [each, each] as const)}
          value={String(topKIn(given)) as (typeof numbers)[number]}
          onChange={(k) => onChange({ k: k === "10" ? undefined : k })}
        />
        <CollectionField value={given["c"]} onChange={(c) => onChange({ c })} />
        <label class="pick">
          <span>Files open in</span>
          <select
            value={opens}
            onChange={(event) => {
              editor.set(event.currentTarget.value)
              setOpens(event.currentTarget.value)
            }}
          >
            <option value="">nothing</option>
            {editors.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
    </Dialog>
  )
}
