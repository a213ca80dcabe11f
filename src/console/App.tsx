import { useEffect, useMemo, useState } from "preact/hooks"
import { type Address, followLinks, go, href, useAddress, type View, views } from "./address.ts"
import { call, gone, key, locked, root } from "./api.ts"
import { Ask } from "./Ask.tsx"
import { Compare } from "./Compare.tsx"
import { Documents } from "./Documents.tsx"
import { Graph } from "./Graph.tsx"
import { Health } from "./Health.tsx"
import { unknownCaller, ShellContext, useEvery, useKeys, useLoad } from "./hooks.ts"
import { Dialog, Empty, Trouble } from "./Parts.tsx"
import { Search } from "./Search.tsx"
import type { Who } from "./wire.ts"

const pages = { search: Search, ask: Ask, compare: Compare, documents: Documents, graph: Graph, health: Health }

const nameOf = (view: View | undefined): string =>
  view === undefined ? "Not found" : `${view.charAt(0).toUpperCase()}${view.slice(1)}`

/** How often a server that is gone is asked whether it is back, in milliseconds. */
const again = 1000

const allKeys: ReadonlyArray<readonly [keys: string, what: string]> = [
  ["/", "Search"],
  ["↓ ↑ j k", "Next and previous result"],
  ["Enter", "Open the passage"],
  ["n p", "Next and previous hit in the same document"],
  ["Esc", "Close what is open"],
  ["s", "Settings of the search"],
  ["1 – 6", "Search, Ask, Compare, Documents, Graph, Health"],
  ["0 – 3", "Grade a passage while judging"],
  ["?", "This list"]
]

/** Asks for the key that the server wants; it stays in this tab. */
const KeyDialog = ({
  onEnter,
  said
}: {
  readonly said: string | undefined
  readonly onEnter: (value: string) => void
}) => {
  const [value, set] = useState("")
  return (
    <Dialog title="This server needs a key">
      <form
        class="fields"
        onSubmit={() => {
          if (value.trim() !== "") onEnter(value.trim())
        }}
      >
        {said !== undefined && (
          <p class="trouble" role="alert">
            {said}
          </p>
        )}
        <label>
          <span>Key</span>
          <input
            type="password"
            value={value}
            autoComplete="off"
            autofocus
            onInput={(event) => set(event.currentTarget.value)}
          />
        </label>
        <p class="remark">It is kept in this tab until you close it, and sent to this server alone.</p>
        <button type="submit" class="primary">
          Continue
        </button>
      </form>
    </Dialog>
  )
}

const whoTold = ({ authenticated, name, read_only: isReadOnly, rights }: Who): string =>
  [
    authenticated ? (name ?? "with a key") : "without a key",
    isReadOnly ? "read-only server" : rights.includes("admin") ? undefined : `may ${rights.join(", ")}`
  ]
    .filter((part) => part !== undefined)
    .join(" · ")

export const App = () => {
  const address = useAddress()
  const [pulse, beat] = useState(0)
  const [lock, setLock] = useState<{ readonly said: string | undefined }>()
  const [isGone, setGone] = useState(false)
  const [isHelpOpen, openHelp] = useState(false)
  const [said, announce] = useState("")

  // As long as the page.
  useEffect(() => {
    const onLocked = (event: Event) => {
      key.forget()
      const { detail } = event as CustomEvent<string | null>
      // Of several requests that were refused, one says why.
      setLock((before) => ({ said: detail ?? before?.said }))
    }
    window.addEventListener(locked, onLocked)
    window.addEventListener(gone, () => setGone(true))
    document.addEventListener("click", followLinks)
    // What a form asks for, its view does.
    document.addEventListener("submit", (event) => event.preventDefault())
  }, [])

  const look = async () => {
    const response = await fetch(`${root}/health`).catch(() => undefined)
    if (response?.ok !== true) return
    setGone(false)
    beat((n) => n + 1)
  }
  useEvery(again, () => void look(), isGone)

  const { failure, value: who } = useLoad<Who>(`who ${pulse}`, (signal) => call<Who>("GET", "/whoami", { signal }))
  useEffect(() => {
    if (who?.rights.length === 0) setLock((before) => before ?? { said: undefined })
  }, [who])
  const { view } = address
  // Nothing else tells who does not see that the page is another one.
  useEffect(() => announce(nameOf(view)), [view])
  useEffect(() => {
    const subject = address.given["q"] ?? address.given["name"] ?? ""
    document.title = `${subject === "" ? "" : `${subject} · `}${nameOf(view)} · Clew`
  }, [address])

  const enter = (value: string) => {
    key.set(value)
    setLock(undefined)
    beat((n) => n + 1)
  }
  const toSearch = (event: KeyboardEvent) => {
    event.preventDefault()
    const field = document.querySelector<HTMLInputElement>("#search-field")
    if (field === null) return go(href("search"))
    field.focus()
    field.select()
  }
  // Where passages are judged, digits are grades.
  const toView = (view: View) => () => void (document.querySelector(".judge") === null && go(href(view)))
  useKeys({
    "/": toSearch,
    "?": () => openHelp(true),
    ...Object.fromEntries(views.map((each, at) => [String(at + 1), toView(each)]))
  })

  const shell = useMemo(() => ({ pulse, who: who ?? unknownCaller, announce }), [pulse, who])
  const Page: ((props: Pick<Address, "given">) => preact.JSX.Element) | undefined = view && pages[view]
  return (
    <ShellContext.Provider value={shell}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={href("search")}>
          <span class="mark" aria-hidden="true" />
          Clew
        </a>
        <nav aria-label="Views">
          {views.map((each) => (
            <a key={each} href={href(each)} aria-current={each === view ? "page" : undefined}>
              {nameOf(each)}
            </a>
          ))}
        </nav>
        <div class="self">
          {who !== undefined && who.rights.length > 0 && <span class="who">{whoTold(who)}</span>}
          {key.get() !== "" && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                key.forget()
                beat((n) => n + 1)
              }}
            >
              Forget key
            </button>
          )}
          <button type="button" class="quiet" onClick={() => openHelp(true)} aria-label="Keys">
            ?
          </button>
        </div>
      </header>
      {isGone && (
        <p class="banner" role="status">
          The server does not answer. The page goes on by itself when it is back.
        </p>
      )}
      <main id="main" tabIndex={-1}>
        <h1 class="unseen">{nameOf(view)}</h1>
        {Page === undefined ? (
          <Empty title="There is no such page">
            <a href={href("search")}>Search</a>
          </Empty>
        ) : who?.rights.includes("read") ? (
          <Page key={view} given={address.given} />
        ) : who === undefined ? (
          <Trouble failure={failure} />
        ) : (
          who.rights.length > 0 && (
            <Empty title="This key may not read">
              <p>It may {who.rights.join(" and ")} alone. What the console shows needs a key with the right read.</p>
            </Empty>
          )
        )}
      </main>
      <div class="unseen" role="status" aria-live="polite">
        {said}
      </div>
      {lock !== undefined && <KeyDialog said={lock.said} onEnter={enter} />}
      {isHelpOpen && (
        <Dialog title="Keys" onClose={() => openHelp(false)}>
          <dl class="keys">
            {allKeys.map(([keys, what]) => (
              <div key={keys}>
                <dt>{keys.split(" ").map((each) => (each === "–" ? "–" : <kbd key={each}>{each}</kbd>))}</dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <p class="remark">
            <a href={`${root}/docs`} target="_blank" rel="noreferrer">
              The API
            </a>
          </p>
        </Dialog>
      )}
    </ShellContext.Provider>
  )
}
