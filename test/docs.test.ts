import { execFile, execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "clew-docs-"))

const programsOf = (page: string): ReadonlyArray<string> =>
  [...readFileSync(join(root, "docs", page), "utf8").matchAll(/```ts\n([^]*?)```/g)].map(([, program]) => program!)

const programOf = (page: string): string => programsOf(page)[0] ?? assert.fail(`no program in ${page}`)

/** What the client's examples take from the ones before. */
const given = `import { type Client, connect, type Job } from "clew/client"
declare const url: string, clew: Client, sources: Array<unknown>
declare let answer: string, job: Job
`

/** What the compiler has against the program; the sources it imports are checked by `npm run check`. */
const complaints = async (project: string): Promise<ReadonlyArray<string>> => {
  const tsc = join(root, "node_modules", ".bin", "tsc")
  // Not at once: a runner that hears nothing of its test for a minute fails.
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(tsc, ["--project", project, "--pretty", "false"], { cwd: project }, (error, text) =>
      typeof error?.code === "string" ? reject(error) : resolve(text)
    )
  })
  return stdout.split("\n").filter((line) => /^(?:program|client\d)\.ts/.test(line))
}

describe("the versions of Effect's packages to install beside Clew", () => {
  it("are those that it has", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    for (const page of ["library.md", "client.md"]) {
      const named = readFileSync(join(root, "docs", page), "utf8").matchAll(/(effect|@effect\/platform)@([\d.]*\d)/g)
      const found = [...named]
      assert.isNotEmpty(found, page)
      for (const [, name, version] of found) assert.strictEqual(version, dependencies[name!], page)
    }
  })
})

it("no link of the documents leads nowhere", () => {
  const textOf = (path: string) => readFileSync(path, "utf8").replaceAll(/^ *(```|~~~)[^]*?\n *\1/gm, "")
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-")
  const pages = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    ...readdirSync(join(root, "docs")).map((it) => `docs/${it}`)
  ]
  const dead = pages
    .filter((page) => page.endsWith(".md"))
    .flatMap((page) =>
      [
        ...textOf(join(root, page))
          .replaceAll(/`[^`\n]*`/g, "")
          .matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)
      ]
        .filter(([, path, anchor]) => {
          const target = path === "" ? join(root, page) : join(root, dirname(page), path!)
          if (!existsSync(target) || anchor === undefined) return !existsSync(target)
          return ![...textOf(target).matchAll(/^#+ (.*)$/gm)].some(([, heading]) => anchorOf(heading!) === anchor)
        })
        .map(([link]) => `${page}: ${link}`)
    )
  assert.deepStrictEqual(dead, [])
})

describe("docs/library.md", () => {
  beforeAll(() => {
    // As a program that has installed both packages sees them.
    mkdirSync(join(folder, "node_modules"))
    // A package of that name further up would be taken for it.
    writeFileSync(join(folder, "package.json"), '{"type":"module"}')
    symlinkSync(root, join(folder, "node_modules", "clew"))
    for (const name of ["effect", "@effect"])
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("begins with a program of twenty lines that prints what the page says", () => {
    const program = programOf("library.md")
    assert.isAtMost(
      program
        .trim()
        .split("\n")
        .filter((line) => line !== "").length,
      20
    )
    writeFileSync(join(folder, "program.mjs"), program)
    const printed = execFileSync(process.execPath, ["program.mjs"], { cwd: folder, encoding: "utf8" })
    assert.strictEqual(printed, "daedalus.md:1 Daedalus made wings of feathers and wax.\n")
    assert.include(readFileSync(join(root, "docs", "library.md"), "utf8"), `\`${printed.trim()}\``)
  })

  it("has the types that the program counts on, and the client those that its examples do", async () => {
    // Those of the package, if it was built with them.
    const typesOf = (name: string) => {
      const built = join(root, "dist", "types", `${name}.d.ts`)
      return [existsSync(built) ? built : join(root, "src", `${name}.ts`)]
    }
    writeFileSync(join(folder, "program.ts"), `${programOf("library.md")}\nexport {}\n`)
    const examples = programsOf("client.md").map((code, at) => {
      const own = code.match(/^import .*$/gm)?.join("\n") ?? ""
      // In a block of its own, what is declared for all stands back.
      const text = `${own.includes("connect") ? given.replace(" connect,", "") : given}${own}\n{${code.replace(/^import .*$/gm, "")}}\n`
      writeFileSync(join(folder, `client${at}.ts`), text)
      return `client${at}.ts`
    })
    assert.isAbove(examples.length, 4)
    const tsconfig = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        typeRoots: [join(root, "node_modules", "@types")],
        paths: { clew: typesOf("index"), "clew/client": typesOf("client") },
        // An example names what it only shows.
        noUnusedLocals: false
      },
      include: [],
      files: ["program.ts", ...examples]
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig))
    assert.deepStrictEqual(await complaints(folder), [])
  })
})
