import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import type { Passage } from "../src/model/Passage.ts"
import { Tokenizer } from "../src/packaged/Tokenizer.ts"
import { chunk } from "../src/chunking/chunk.ts"

/** The parts of tree-sitter used here. */
interface Node {
  readonly type: string
  readonly startIndex: number
  readonly endIndex: number
  readonly namedChildren: ReadonlyArray<Node>
  readonly childForFieldName: (name: string) => Node | null
}
interface Definition {
  readonly name: string
  readonly start: number
  readonly end: number
}

const size = 192

/** Most questions per language. */
const mostQuestions = 100

/** Kinds of nodes that define a name, by language. */
const kinds: Readonly<Record<string, RegExp>> = {
  py: /^(?:function|class)_definition$/,
  go: /^(?:function|method)_declaration$|^type_spec$/,
  java: /^(?:class|interface|enum|record|method|constructor)_declaration$/,
  ts: /^(?:function|class|abstract_class|interface|enum|type_alias|generator_function)_declaration$|^method_definition$|^variable_declarator$/,
  js: /^(?:function|class|generator_function)_declaration$|^method_definition$|^variable_declarator$/,
  rs: /^(?:function|struct|enum|trait|mod|macro)_(?:item|definition)$/
}
const grammars: Readonly<Record<string, string>> = {
  py: "python",
  go: "go",
  java: "java",
  ts: "typescript",
  js: "javascript",
  rs: "rust"
}

const comment = /comment|decorator|attribute_item|annotation/

/** Kinds whose inner definitions do not belong to the program's outline, such as functions within functions. */
const isFunction = (type: string): boolean => /function|method|constructor|arguments/.test(type)

const definitionsIn = (text: string, root: Node, language: string): ReadonlyArray<Definition> => {
  const found: Array<Definition> = []
  const walk = (node: Node): void => {
    for (const child of node.namedChildren) {
      const name = kinds[language]!.test(child.type) ? child.childForFieldName("name") : null
      if (name !== null)
        found.push({
          name: text.slice(name.startIndex, name.endIndex),
          start: child.startIndex,
          end: child.endIndex
        })
      if (!isFunction(child.type)) walk(child)
    }
  }
  walk(root)
  return found
}

/** Nodes that belong together, and what they define. */
interface Item {
  readonly start: number
  readonly end: number
  readonly name: string | undefined
  readonly node: Node
}

/** Splits by the syntax tree: definitions with their comments, small neighbours merged, large ones by their members. */
const bySyntax = (text: string, root: Node, language: string, count: (text: string) => number) => {
  const passages: Array<Pick<Passage, "text" | "heading" | "start" | "end">> = []
  const add = (start: number, end: number, heading: ReadonlyArray<string>) => {
    const whole = text.slice(start, end)
    if (whole.trim() !== "") passages.push({ text: whole, heading, start, end })
  }
  const addLines = (start: number, end: number, heading: ReadonlyArray<string>) => {
    let from = start
    let tokens = 0
    for (let at = start; at < end;) {
      const line = text.indexOf("\n", at)
      const next = line < 0 || line >= end ? end : line + 1
      const more = count(text.slice(at, next))
      if (tokens + more > size && at > from) {
        add(from, at, heading)
        from = at
        tokens = 0
      }
      tokens += more
      at = next
    }
    add(from, end, heading)
  }
  const items = (parent: Node): ReadonlyArray<Item> => {
    const all: Array<Item> = []
    let above: number | undefined
    for (const node of parent.namedChildren) {
      if (comment.test(node.type)) {
        above ??= node.startIndex
        continue
      }
      const children = node.namedChildren
      // Exported and declared definitions are a level or two down.
      const inner = /^(?:export|lexical)/.test(node.type) ? children.flatMap(({ namedChildren }) => namedChildren) : []
      const defines = [node, ...children, ...inner].find(({ type }) => kinds[language]!.test(type))
      const name = defines?.childForFieldName("name")
      all.push({
        start: above ?? node.startIndex,
        end: node.endIndex,
        name: name === null || name === undefined ? undefined : text.slice(name.startIndex, name.endIndex),
        node: defines ?? node
      })
      above = undefined
    }
    return all
  }
  const cut = (parent: Node, path: ReadonlyArray<string>) => {
    let run: Array<Item> = []
    let held = 0
    const flush = () => {
      if (run.length > 0) {
        const names = run.flatMap(({ name }) => (name === undefined ? [] : [name]))
        add(run[0]!.start, run.at(-1)!.end, names.length === 1 ? [...path, names[0]!] : path)
      }
      run = []
      held = 0
    }
    for (const item of items(parent)) {
      const tokens = count(text.slice(item.start, item.end))
      if (tokens > size) {
        flush()
        const named = item.name === undefined ? path : [...path, item.name]
        const body = isFunction(item.node.type) ? null : item.node.childForFieldName("body")
        if (body === null) addLines(item.start, item.end, named)
        else {
          add(item.start, body.startIndex, named)
          cut(body, named)
        }
        continue
      }
      if (held + tokens > size || (item.name !== undefined && tokens >= size / 4)) flush()
      run.push(item)
      held += tokens
      if (item.name !== undefined && tokens >= size / 4) flush()
    }
    flush()
  }
  cut(root, [])
  return passages
}

/** A function's own documentation, which is removed from the text and used as the question. */
const docs: Readonly<Record<string, RegExp>> = {
  py: /^[ \t]*(?:"""|''')((?:[^"'\\]|["'](?!["']{2})){20,1500}?)(?:"""|''')[ \t]*\n/gm,
  go: /^(?:\/\/[^\n]*\n)+(?=func )/gm,
  java: /^[ \t]*\/\*\*(?:[^*]|\*(?!\/)){20,1500}\*\/[ \t]*\n(?=[ \t]+(?:public|protected|private|static))/gm,
  ts: /^[ \t]*\/\*\*(?:[^*]|\*(?!\/)){20,1500}\*\/[ \t]*\n(?=export (?:const|function))/gm,
  js: /^[ \t]*\/\*\*(?:[^*]|\*(?!\/)){20,1500}\*\/[ \t]*\n(?=[ \t]*(?:async )?(?:function|[a-z]\w*\s*\())/gm,
  rs: /(?:^[ \t]*\/\/\/[^\n]*\n)+(?=[ \t]*(?:#\[[^\n]*\n[ \t]*)?(?:pub |fn ))/gm
}

const question = (doc: string): string =>
  doc
    .replace(/\/\*\*|\*\/|^[ \t]*(?:\*|\/\/[/!]?)|"""|'''/gm, " ")
    .replace(/\{@\w+ ([^}]*)\}|<[^>]*>|`/g, "$1")
    .replace(/\s+/g, " ")
    .trim()
    .split(/(?<=\.) |@/)[0]!
    .slice(0, 300)

const run = async (args: ReadonlyArray<string>): Promise<void> => {
  const [folder = "", modules = "", out = "definitions"] = args.map((arg) => resolve(arg))
  const { Language, Parser } = createRequire(join(modules, "x.js"))("@vscode/tree-sitter-wasm") as any
  await Parser.init()
  const { count } = await Effect.runPromise(
    Effect.provide(
      Effect.flatMap(Tokenizer, ({ load }) => load),
      Tokenizer.Default
    )
  )
  const corpora: Record<string, Array<string>> = { lines: [], syntax: [] }
  const judged: Record<string, Array<string>> = { lines: [], syntax: [] }
  const queries: Array<string> = []
  for (const [language, grammar] of Object.entries(grammars)) {
    const parser = new Parser()
    const wasm = join(modules, `node_modules/@vscode/tree-sitter-wasm/wasm/tree-sitter-${grammar}.wasm`)
    // oxlint-disable-next-line no-await-in-loop -- one grammar after the other
    parser.setLanguage(await Language.load(readFileSync(wasm)))
    let large = 0
    let questions = 0
    const named = { lines: 0, syntax: 0 }
    const headed = { right: 0, all: 0 }
    const time = { lines: 0, syntax: 0 }
    for (const file of readdirSync(join(folder, language))) {
      const original = readFileSync(join(folder, language, file), "utf8")
      const asked: Array<{ readonly words: string; readonly at: number }> = []
      let removed = 0
      const text = original.replace(docs[language]!, (doc: string, ...rest: ReadonlyArray<unknown>) => {
        const offset = rest.find((each) => typeof each === "number") as number
        const words = question(doc)
        if (words.split(" ").length < 5) return doc
        asked.push({ words, at: offset - removed })
        removed += doc.length
        return ""
      })
      const before = performance.now()
      const lines = chunk(text, { size, overlap: 0, format: "code", language, countTokens: count })
      const between = performance.now()
      const tree = parser.parse(text)
      const syntax = bySyntax(text, tree.rootNode as Node, language, count)
      time.lines += between - before
      time.syntax += performance.now() - between
      const definitions = definitionsIn(text, tree.rootNode as Node, language)
      const names = new Set(definitions.map(({ name }) => name))
      for (const { end, name, start } of definitions) {
        if (count(text.slice(start, end)) < size / 4) continue
        large++
        for (const [kind, passages] of [["lines", lines] as const, ["syntax", syntax] as const]) {
          const holds = passages.filter((passage) => passage.start < end && passage.end > start)
          const isNamed = ({ heading }: Pick<Passage, "heading">) =>
            heading.some((part) => part === name || part.split(/[\s.:]+/).includes(name))
          if (holds.some(isNamed)) named[kind]++
        }
      }
      for (const { heading } of lines) {
        const last = heading.at(-1)
        if (last === undefined) continue
        headed.all++
        if (last.split(/[\s.:<(]+/).some((part) => names.has(part)) || last.startsWith("impl ")) headed.right++
      }
      for (const [kind, passages] of [["lines", lines] as const, ["syntax", syntax] as const]) {
        passages.forEach((passage, i) =>
          corpora[kind]!.push(
            JSON.stringify({ _id: `${language}/${file}/${i}`, title: passage.heading.join(" "), text: passage.text })
          )
        )
      }
      for (const [i, { at, words }] of asked.entries()) {
        // A doc string is inside its function, after its head; every other comment is before it.
        const place = language === "py" ? at - 2 : text.slice(at).search(/\S/) + at
        const [one, other] = [lines, syntax].map((passages) =>
          passages.findIndex(({ end, start }) => start <= place && place < end)
        )
        if (one === undefined || other === undefined || one < 0 || other < 0 || questions === mostQuestions) continue
        questions++
        const id = `${language}/${file}#${i}`
        queries.push(JSON.stringify({ _id: id, text: words }))
        judged["lines"]!.push(`${id}\t${language}/${file}/${one}\t1`)
        judged["syntax"]!.push(`${id}\t${language}/${file}/${other}\t1`)
      }
    }
    const share = (part: number, all: number) => (part / Math.max(1, all)).toFixed(3)
    console.log(
      `${language}: ${large} definitions of a quarter passage or more; named by lines ${share(named.lines, large)}, by syntax ${share(named.syntax, large)}; ` +
        `headings by lines that are definitions ${share(headed.right, headed.all)}; ${Math.round(time.lines)} and ${Math.round(time.syntax)} ms`
    )
  }
  for (const kind of ["lines", "syntax"]) {
    mkdirSync(join(out, kind, "qrels"), { recursive: true })
    writeFileSync(join(out, kind, "corpus.jsonl"), corpora[kind]!.join("\n"))
    writeFileSync(join(out, kind, "queries.jsonl"), queries.join("\n"))
    writeFileSync(join(out, kind, "qrels/test.tsv"), ["query-id\tcorpus-id\tscore", ...judged[kind]!].join("\n"))
    console.log(`${kind}: ${corpora[kind]!.length} passages, ${judged[kind]!.length} questions`)
  }
  console.log(`then: clew benchmark --dataset ${out}/lines, and ${out}/syntax`)
}

/**
 * The code splitter beside one based on tree-sitter's trees: `npm run bench -- definitions FOLDER MODULES OUT`. FOLDER has
 * folders py, go, java, ts, js and rs of sources; MODULES is where `npm install @vscode/tree-sitter-wasm` ran; OUT becomes
 * two datasets for `clew benchmark`, whose questions are the first sentences of functions' comments, removed from the
 * sources.
 */
await run(process.argv.slice(2))
