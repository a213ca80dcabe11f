import { useEffect, useState } from "preact/hooks"
import { type Address, go, href, hrefOf } from "./address.ts"
import { type Given, query } from "./api.ts"
import { commandLine, inTypeScript } from "./asking.ts"
import { Canvas } from "./Canvas.tsx"
import { type Edge, grown, isPath, type Network, noNetwork, type Picked } from "./drawing.ts"
import { useGet, useHome, useShell } from "./hooks.ts"
import { count } from "./matching.ts"
import { CopyAs, Empty, Facts, Field, SourcePath, Trouble, Waiting } from "./Parts.tsx"
import { CollectionField } from "./Settings.tsx"
import type { Entities, Entity, Path } from "./wire.ts"

const neighbours = 24
const pause = 120

const entityPath = (name: string, collection: string | undefined, more: Given = {}): string =>
  `/graph/entities/${encodeURIComponent(name)}${query({ collection, ...more })}`

const edgesOf = ({ name, neighbours: all }: Entity): ReadonlyArray<Edge> =>
  all.map((each) => ({ from: name, to: each.name, ...each }))

const place = ({ line, locator, source }: Pick<Edge, "line" | "locator" | "source">): string =>
  `${source}${locator ?? `:${line}`}`

/** The first of each name: a document is called by its title, its file's name, and the paths of links. */
const once = <A extends { readonly name: string }>(all: ReadonlyArray<A>): ReadonlyArray<A> => {
  const seen = new Set<string>()
  return all.filter(({ name }) => !seen.has(name) && seen.add(name))
}

/** A name in a line of its own, of a path the end. */
const Name = ({ name }: { readonly name: string }) => (isPath(name) ? <SourcePath source={name} /> : <>{name}</>)

/** A passage that shows a relation, as a way to it. */
const Evidence = ({ edge }: { readonly edge: Edge }) => (
  <>
    <p>
      <b>{edge.from}</b> – <b>{edge.to}</b>
    </p>
    <Facts
      facts={[
        ["Passage", place(edge)],
        ["Which", `${edge.relation} ${edge.to}`],
        ["Says", edge.says]
      ]}
    />
    <a
      class="link"
      href={href("search", {
        q: `${edge.from} ${edge.to}`,
        f: JSON.stringify([["source", edge.source, { source: edge.source }]])
      })}
    >
      Find it in the document
    </a>
  </>
)

const About = ({
  collection,
  name,
  network,
  onExpand,
  onPick
}: {
  readonly name: string
  readonly network: Network
  readonly collection: string | undefined
  readonly onExpand: (entity: Entity) => void
  readonly onPick: (name: string) => void
}) => {
  const { failure, value } = useGet<Entity>(entityPath(name, collection, { limit: neighbours }))
  if (failure) return <Trouble failure={failure} />
  if (value === undefined) return <Waiting rows={3} />
  const others = once(value.neighbours).filter((each) => each.name !== value.name)
  return (
    <>
      <h2>{value.name}</h2>
      {value.description !== undefined && <p>{value.description}</p>}
      <p class="remark">
        {value.at_least === true && "at least "}
        {count(value.documents, "document")}
      </p>
      <p class="actions">
        {others.some((each) => !network.nodes.has(each.name)) && (
          <button type="button" onClick={() => onExpand(value)}>
            Show its neighbours
          </button>
        )}
        <a class="button" href={href("search", { q: value.name, c: collection })}>
          Search
        </a>
      </p>
      <h3>Neighbours</h3>
      <ul class="names">
        {others.map((each, at) => (
          <li key={at}>
            <button type="button" class="link" onClick={() => onPick(each.name)} title={each.name}>
              <Name name={each.name} />
            </button>
            <small class="path" title={place(each)}>
              <bdi>{place(each)}</bdi>
            </small>
          </li>
        ))}
      </ul>
      <h3>Where it occurs</h3>
      <ul class="names">
        {value.mentions.slice(0, 20).map((mention, at) => (
          <li key={at}>
            <a class="link path" title={place(mention)} href={hrefOf({ ...mention, collection }, { q: value.name })}>
              <bdi>{place(mention)}</bdi>
            </a>
            <small>{mention.relation}</small>
          </li>
        ))}
      </ul>
    </>
  )
}

const Steps = ({ path }: { readonly path: Path }) =>
  path.steps.length === 0 ? (
    <p>No passages join the two within six steps.</p>
  ) : (
    <ol class="steps">
      {path.steps
        .filter(({ from, to }) => from !== to)
        .map((step) => (
          <li key={`${step.from} ${step.to}`}>
            <p>
              <b>{step.from}</b> → <b>{step.to}</b>
            </p>
            <p class="where">
              <SourcePath source={place(step)} />
            </p>
            <p>{step.text.length > 400 ? `${step.text.slice(0, 400)} …` : step.text}</p>
          </li>
        ))}
    </ol>
  )

/** What joins documents: a name and its neighbours, and the passages that join two names. */
export const Graph = ({ given }: Pick<Address, "given">) => {
  const { announce } = useShell()
  const { from, name, to } = given
  const home = useHome()
  const collection = given["c"] ?? home
  const [text, setText] = useState("")
  const [picked, pick] = useState<Picked>({})
  const [network, setNetwork] = useState<Network>(noNetwork)
  const isBetween = from !== undefined && to !== undefined
  const change = (more: Given) => go(href("graph", { ...given, ...more }))

  const listed = useGet<Entities>(
    `/graph/entities${query({ collection, prefix: text.trim(), limit: 30 })}`,
    text === "" ? 0 : pause
  )
  const entity = useGet<Entity>(
    name === undefined || isBetween ? undefined : entityPath(name, collection, { limit: neighbours })
  )
  const path = useGet<Path>(isBetween ? `/graph/path${query({ collection, from, to })}` : undefined)
  const show = (found: Entity, base: Network) => setNetwork(grown(base, [found, ...found.neighbours], edgesOf(found)))
  useEffect(() => {
    if (entity.value === undefined || !entity.isCurrent) return
    show(entity.value, noNetwork)
    pick({ node: entity.value.name })
    announce(`${count(entity.value.neighbours.length, "neighbour")} of ${entity.value.name}`)
  }, [entity.value])
  useEffect(() => {
    if (path.value === undefined || !path.isCurrent) return
    const { steps } = path.value
    const names = [...new Set(steps.flatMap((step) => [step.from, step.to]))]
    setNetwork(
      grown(
        noNetwork,
        names.map((each) => ({ name: each, documents: 1 })),
        steps.map((step) => ({ relation: "joins", ...step }))
      )
    )
    pick({})
  }, [path.value])
  const failure = listed.failure ?? entity.failure ?? path.failure
  const hasGraph = name !== undefined || isBetween
  const request = isBetween
    ? {
        path: `/graph/path${query({ collection, from, to })}`,
        cli: commandLine("graph", "path", from, to, { "--collection": collection }),
        mcp: { tool: "graph_query", arguments: { name: from, to, collection } },
        typescript: inTypeScript("{ steps }", "path", from, to, ...(collection === undefined ? [] : [collection]))
      }
    : {
        path: entityPath(name ?? "", collection),
        cli: commandLine("graph", "query", name ?? "", { "--collection": collection }),
        mcp: { tool: "graph_query", arguments: { name, collection } },
        typescript: inTypeScript("entity", "entity", name, ...(collection === undefined ? [] : [{ collection }]))
      }

  return (
    <div class="graph">
      <div class="tools">
        <label class="grow">
          <span class="unseen">A name</span>
          <input
            id="search-field"
            type="search"
            value={text}
            placeholder="A name, a title, a symbol"
            maxLength={1000}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <form
          class="between"
          onSubmit={(event) => {
            const form = new FormData(event.currentTarget)
            const [start, end] = [String(form.get("from")).trim(), String(form.get("to")).trim()]
            if (start !== "" && end !== "") change({ from: start, to: end, name: undefined })
          }}
        >
          <Field label="Path from" name="from" defaultValue={from ?? name ?? ""} key={from ?? name} maxLength={1000} />
          <Field label="Path to" name="to" placeholder="to" defaultValue={to ?? ""} key={to} maxLength={1000} />
          <button type="submit">Find path</button>
        </form>
        <CollectionField isOne value={collection} onChange={(c) => change({ c })} />
        {hasGraph && <CopyAs request={request} />}
      </div>
      <Trouble failure={failure} />
      <div class="graph-columns">
        <nav class="entities" aria-label="Names">
          <ul class="names">
            {once(listed.value?.entities ?? []).map((each, at) => (
              <li key={at}>
                <a
                  href={href("graph", { c: given["c"], name: each.name })}
                  aria-current={each.name === name ? "true" : undefined}
                  title={each.name}
                >
                  <Name name={each.name} />
                </a>
                <small>{each.documents.toLocaleString("en")}</small>
              </li>
            ))}
          </ul>
          {listed.value?.entities.length === 0 && (
            <p class="remark">{text === "" ? "No names join documents here." : "No name begins so."}</p>
          )}
        </nav>
        {hasGraph ? (
          <Canvas network={network} picked={picked} onPick={pick} />
        ) : (
          <Empty title="What joins your documents">
            <p>Choose a name, or find the passages between two.</p>
          </Empty>
        )}
        {(hasGraph || picked.node !== undefined) && (
          <section class="evidence" aria-label="Evidence" tabIndex={0}>
            {picked.edge !== undefined ? (
              <Evidence edge={picked.edge} />
            ) : isBetween && path.value !== undefined && picked.node === undefined ? (
              <Steps path={path.value} />
            ) : (
              picked.node !== undefined && (
                <About
                  key={picked.node}
                  name={picked.node}
                  collection={collection}
                  network={network}
                  onExpand={(found) => show(found, network)}
                  onPick={(each) => change({ name: each, from: undefined, to: undefined })}
                />
              )
            )}
          </section>
        )}
      </div>
    </div>
  )
}
