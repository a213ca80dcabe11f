import { useEffect, useState } from "preact/hooks"
import { type Given, query, root } from "./api.ts"
import type { Source } from "./wire.ts"

export const views = ["search", "ask", "compare", "documents", "graph", "health"] as const
export type View = (typeof views)[number]

/** Where the page is: its view, and what is shown there. Everything that can be shared is in it. */
export interface Address {
  readonly view: View | undefined
  readonly given: Readonly<Record<string, string>>
}

const changed = "clew:address"

const read = (): Address => {
  const { pathname, search } = window.location
  const name = pathname === `${root}/` ? "search" : pathname.slice(`${root}/console/`.length)
  return {
    view: views.find((view) => view === name),
    given: Object.fromEntries(new URLSearchParams(search))
  }
}

/** What the address of an opened passage has of its own. */
export const noPassage = { open: undefined, in: undefined, n: undefined }

export const href = (view: View, given: Given = {}): string => `${root}/console/${view}${query(given)}`

/** The address of a passage, opened in its document. */
export const hrefOf = (
  { chunk_index: n, collection, doc_id: open }: Pick<Source, "chunk_index" | "collection" | "doc_id">,
  given: Given
): string => href("search", { ...given, open, in: collection ?? "default", n })

/** Goes there, as a step of its own for the browser's back key, or in place of the present one. */
export const go = (to: string, replacing = false): void => {
  if (to === window.location.pathname + window.location.search) return
  if (replacing) window.history.replaceState(null, "", to)
  else window.history.pushState(null, "", to)
  window.dispatchEvent(new Event(changed))
}

/** The page's own address, which it follows as long as it is there. */
export const useAddress = (): Address => {
  const [address, set] = useState(read)
  useEffect(() => {
    const update = () => set(read())
    window.addEventListener("popstate", update)
    window.addEventListener(changed, update)
  }, [])
  return address
}

/** Follows links of the page without loading it again. */
export const followLinks = (event: MouseEvent): void => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const link = (event.target as Element | null)?.closest("a")
  if (link === null || link === undefined || link.target !== "" || link.origin !== window.location.origin) return
  // A place on this page is the browser's to go to.
  if (link.hash !== "" || !link.pathname.startsWith(`${root}/console/`)) return
  event.preventDefault()
  go(link.pathname + link.search)
}

/** JSON that anybody may have written, as in an address; undefined if it is not of that form. */
export const jsonIn = <A>(text: string | null | undefined, isForm: (value: unknown) => boolean): A | undefined => {
  try {
    const value = JSON.parse(text ?? "") as unknown
    return isForm(value) ? (value as A) : undefined
  } catch {
    return undefined
  }
}

/** A number from an address, within bounds. */
export const numberIn = (text: string | undefined, min: number, max: number): number | undefined => {
  const value = text === undefined || text === "" ? Number.NaN : Number(text)
  return value >= min && value <= max ? value : undefined
}
