import { jsonIn, numberIn } from "./address.ts"
import type { Given } from "./api.ts"
import type { FacetValue, Filter, Settings } from "./wire.ts"

/** A facet's value that was chosen: its name, the value, and the filter for it. */
export type Chosen = readonly [name: string, value: FacetValue["value"], filter: Filter]

const isChosen = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length <= 40 &&
  value.every(
    (each) => Array.isArray(each) && typeof each[0] === "string" && typeof each[2] === "object" && each[2] !== null
  )

export const chosenIn = (text: string | undefined): ReadonlyArray<Chosen> =>
  jsonIn<ReadonlyArray<Chosen>>(text, isChosen) ?? []

/** Values of one facet are alternatives, those of several must all hold. */
export const filterOf = (chosen: ReadonlyArray<Chosen>): Filter | undefined => {
  const names = [...new Set(chosen.map(([name]) => name))]
  const all = names.map((name): Filter => {
    const filters = chosen.flatMap(([each, , filter]) => (each === name ? [filter] : []))
    return filters.length === 1 ? filters[0]! : { or: filters }
  })
  return all.length === 0 ? undefined : all.length === 1 ? all[0] : { and: all }
}

const modes = ["hybrid", "meaning", "words"] as const
export type Mode = (typeof modes)[number]

/** How to search, as an address says it. */
export interface Choice {
  readonly mode: Mode
  readonly alpha: number | undefined
  readonly fusion: "rrf" | "score" | undefined
  readonly graph: "auto" | "true" | "false" | undefined
  readonly min: number | undefined
}

const oneOf = <A extends string>(text: string | undefined, all: ReadonlyArray<A>): A | undefined =>
  all.find((each) => each === text)

/** `prefix`: of one side of two that are compared. */
export const choiceIn = (given: Readonly<Record<string, string>>, prefix = ""): Choice => ({
  mode: oneOf(given[`${prefix}mode`], modes) ?? "hybrid",
  alpha: numberIn(given[`${prefix}alpha`], 0, 1),
  fusion: oneOf(given[`${prefix}fusion`], ["rrf", "score"] as const),
  graph: oneOf(given[`${prefix}graph`], ["auto", "true", "false"] as const),
  min: numberIn(given[`${prefix}min`], 0, 1)
})

/** How many passages an address wants. */
export const topKIn = (given: Readonly<Record<string, string>>): number => numberIn(given["k"], 1, 100) ?? 10

export const choiceTo = ({ alpha, fusion, graph, min, mode }: Choice, prefix = ""): Given => ({
  [`${prefix}mode`]: mode === "hybrid" ? undefined : mode,
  [`${prefix}alpha`]: alpha,
  [`${prefix}fusion`]: fusion,
  [`${prefix}graph`]: graph,
  [`${prefix}min`]: min
})

export const settingsOf = ({ alpha, fusion, graph, min, mode }: Choice): Settings => ({
  hybrid: mode !== "meaning",
  ...(mode === "words" ? { alpha: 0 } : mode === "hybrid" && alpha !== undefined ? { alpha } : {}),
  ...(mode === "hybrid" && fusion !== undefined ? { fusion } : {}),
  ...(graph === undefined ? {} : { graph: graph === "auto" ? ("auto" as const) : graph === "true" }),
  min_relevance: min
})

/** A choice in few words. */
export const describeChoice = ({ alpha, fusion, graph, min, mode }: Choice): string =>
  [
    { hybrid: "Words and meaning", meaning: "Meaning", words: "Words" }[mode],
    mode === "hybrid" && alpha !== undefined ? `α ${alpha}` : undefined,
    mode === "hybrid" && fusion !== undefined ? (fusion === "rrf" ? "ranks fused" : "scores fused") : undefined,
    graph === undefined ? undefined : `graph ${{ auto: "auto", true: "on", false: "off" }[graph]}`,
    min === undefined ? undefined : `relevance ≥ ${min}`
  ]
    .filter((part) => part !== undefined)
    .join(" · ")

const inShell = (text: string): string => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** A command line of `clew`: words, and flags by name where they are given, quoted where a shell would read them otherwise. */
export const commandLine = (...parts: ReadonlyArray<string | Given>): string =>
  ["clew", ...parts]
    .flatMap((part) =>
      typeof part === "string"
        ? part
        : Object.entries(part).flatMap(([flag, value]) =>
            value === undefined ? [] : value === true ? flag : [flag, String(value)]
          )
    )
    .map(inShell)
    .join(" ")

/** The flags of `clew query` for the same search. */
export const flagsOf = ({ alpha, fusion, graph, min, mode }: Choice): Given => ({
  "--no-hybrid": mode === "meaning" || undefined,
  "--alpha": mode === "words" ? 0 : mode === "hybrid" ? alpha : undefined,
  "--fusion": mode === "hybrid" ? (fusion ?? "rrf") : undefined,
  "--graph": graph,
  "--min-relevance": min
})

/** What a view asks of the server, in every form in which others can ask it. */
export interface Request {
  readonly path: string
  /** It is posted; without one it is a GET. */
  readonly body?: object | undefined
  readonly cli: string
  readonly mcp: { readonly tool: string; readonly arguments: object }
  /** The client's call, without its name. */
  readonly typescript: string
}

const indented = (value: unknown): string => JSON.stringify(value, null, 2)

/** JSON as Python writes it. */
const python = (value: unknown, indent = ""): string => {
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (typeof value !== "object") return JSON.stringify(value)
  const deeper = `${indent}    `
  const [open, close, parts] = Array.isArray(value)
    ? ["[", "]", value.map((each) => python(each, deeper))]
    : ["{", "}", Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each, deeper)}`)]
  return parts.length === 0 ? `${open}${close}` : `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${indent}${close}`
}

/** The forms of a request, by name; `isLocked`: it needs the key, which is never in them. */
export const formsOf = (
  { body, cli, mcp, path, typescript }: Request,
  origin: string,
  isLocked: boolean
): ReadonlyArray<readonly [name: string, text: string]> => {
  const method = body === undefined ? "GET" : "POST"
  const curl = [
    `curl ${body === undefined ? "" : "-X POST "}${inShell(`${origin}${path}`)}`,
    ...(isLocked ? ['-H "Authorization: Bearer $SERVICE_API_KEY"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${inShell(JSON.stringify(body))}`])
  ].join(" \\\n  ")
  const headers = isLocked ? `, headers={"Authorization": f"Bearer {os.environ['SERVICE_API_KEY']}"}` : ""
  const given = body === undefined ? "" : `, json=${python(JSON.parse(JSON.stringify(body)))}`
  return [
    ["curl", curl],
    ["CLI", cli],
    ["MCP", indented({ method: "tools/call", params: { name: mcp.tool, arguments: mcp.arguments } })],
    [
      "TypeScript",
      `import { connect } from "clew/client"\n\nconst clew = connect({ url: ${JSON.stringify(origin)}${isLocked ? ", apiKey: process.env.SERVICE_API_KEY" : ""} })\n${typescript}`
    ],
    [
      "Python",
      `import ${isLocked ? "os, " : ""}requests\n\nanswer = requests.request("${method}", ${JSON.stringify(`${origin}${path}`)}${given}${headers})\nanswer.raise_for_status()\nprint(answer.${path === "/ask" ? "text" : "json()"})`
    ]
  ]
}

/** A call of the client, as a program writes it. */
export const inTypeScript = (result: string, name: string, ...given: ReadonlyArray<unknown>): string =>
  `const ${result} = await clew.${name}(${given.map(indented).join(", ")})`
