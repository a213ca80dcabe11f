// Compares Clew's own tokenizer and Markdown reader with libraries that do the same: agreement and time.
// npm install --no-save @huggingface/tokenizers micromark mdast-util-from-markdown mdast-util-gfm micromark-extension-gfm
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { packagedTokenizer, packagedTokenizerFile } from "../src/packaged/Tokenizer.ts"
import { type Heading, scanMarkdown } from "../src/chunking/chunk/markdown.ts"

const folders = process.argv.slice(2)
if (folders.length === 0) {
  console.error("usage: npm run bench -- libraries FOLDER...   (of Markdown)")
  process.exit(2)
}

/** Imported by a name that the compiler does not follow, since they are not dependencies. */
const load = async (name: string): Promise<any> => {
  try {
    return await import(name)
  } catch {
    console.error(
      "install what is compared: npm install --no-save @huggingface/tokenizers mdast-util-from-markdown mdast-util-gfm micromark-extension-gfm"
    )
    process.exit(2)
  }
}

const markdownIn = (path: string): ReadonlyArray<string> =>
  statSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => markdownIn(join(path, name)))
    : /\.(?:md|markdown)$/.test(path)
      ? [readFileSync(path, "utf8")]
      : []

const texts = folders.flatMap(markdownIn)
const megabytes = texts.reduce((sum, text) => sum + text.length, 0) / 1e6

/** CPU seconds, the least of three. */
const cpu = (work: () => void): number =>
  Math.min(
    ...[1, 2, 3].map(() => {
      const before = process.cpuUsage()
      work()
      return process.cpuUsage(before).user / 1e6
    })
  )

const { Tokenizer } = await load("@huggingface/tokenizers")
const own = await Effect.runPromise(packagedTokenizer)
const theirs = new Tokenizer(JSON.parse(readFileSync(packagedTokenizerFile, "utf8")), {})
const paragraphs = texts.flatMap((text) => text.split(/\n{2,}/)).filter((text) => text.trim() !== "")
const unknown = theirs.encode("\u{10ffff}", { add_special_tokens: false }).ids[0]
const differing = paragraphs.filter(
  (text) =>
    own.encode(text).join() !==
    theirs
      .encode(text, { add_special_tokens: false })
      .ids.filter((id: number) => id !== unknown)
      .join()
)
const [ownTime, theirTime] = [
  cpu(() => paragraphs.forEach((text) => own.encode(text))),
  cpu(() => paragraphs.forEach((text) => theirs.encode(text, { add_special_tokens: false })))
]
console.log(
  `${texts.length} files, ${megabytes.toFixed(1)} MB, ${paragraphs.length} paragraphs
tokens: ${differing.length} paragraphs differ; own ${(megabytes / ownTime).toFixed(1)} MB/s, @huggingface/tokenizers ${(megabytes / theirTime).toFixed(1)} MB/s`
)
for (const text of differing.slice(0, 3)) console.log(`  ${JSON.stringify(text.slice(0, 120))}`)

const { fromMarkdown } = await load("mdast-util-from-markdown")
const { gfm } = await load("micromark-extension-gfm")
const { gfmFromMarkdown } = await load("mdast-util-gfm")
const parsed = (text: string) => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })

const ownHeadings = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const heading = ({ level, start }: Heading) => {
    found.push(`${level}@${text.slice(0, start).split("\n").length}`)
    return false
  }
  scanMarkdown(text, 0, { block: () => {}, leave: () => {}, heading })
  return found
}
const theirHeadings = (text: string): ReadonlyArray<string> =>
  parsed(text)
    .children.filter(({ type }: { type: string }) => type === "heading")
    .map(({ depth, position }: any) => `${depth}@${position.start.line}`)

let [agreeing, ownOnly, theirsOnly] = [0, 0, 0]
for (const text of texts) {
  const [a, b] = [new Set(ownHeadings(text)), new Set(theirHeadings(text))]
  for (const each of a) {
    if (b.has(each)) agreeing++
    else ownOnly++
  }
  for (const each of b) if (!a.has(each)) theirsOnly++
}
const ownMarkdown = cpu(() => {
  for (const text of texts) scanMarkdown(text, 0, { block: () => {}, leave: () => {}, heading: () => false })
})
const theirMarkdown = cpu(() => texts.forEach(parsed))
console.log(
  `headings: ${agreeing} in both, ${ownOnly} only in Clew's, ${theirsOnly} only in micromark's; own ${(megabytes / ownMarkdown).toFixed(1)} MB/s, micromark ${(megabytes / theirMarkdown).toFixed(1)} MB/s`
)
