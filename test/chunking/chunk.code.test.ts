import { assert, describe, it } from "vitest"
import { chunk } from "../../src/chunking/chunk.ts"
import { definitionName } from "../../src/chunking/chunk/definitions.ts"
import { syntaxOf } from "../../src/chunking/chunk/codeLines.ts"
import { assertLaws, options } from "./chunkLaws.ts"

const passages = (content: string, language: string, size = 64) =>
  assertLaws(content, options({ size, overlap: 8, format: "code", language }))

const lines = (n: number, indent: string, line = "call(alpha, beta)"): string =>
  Array.from({ length: n }, () => `${indent}${line}`).join("\n")

const imports = Array.from({ length: 6 }, (_, i) => `import { a${i} } from "a${i}"`).join("\n")

describe("chunk, code", () => {
  it("makes one passage of what fits, headed by the definition it is", () => {
    const [whole, ...rest] = passages(`/** Adds. */\nexport const add = (a, b) => {\n  return a + b\n}\n`, "ts")
    assert.deepStrictEqual([rest.length, whole?.heading, whole?.startLine, whole?.endLine], [0, ["add"], 1, 4])
  })
  it("cuts at top-level definitions, each with its comments and decorators", () => {
    const content = `${imports}\n\n/** First. */\nexport function first() {\n${lines(5, "  ")}\n}\n\n// Second,\n// longer.\n@decorated({\n  a: 1\n})\nexport class Second {\n${lines(5, "  ")}\n}\n`
    assert.deepStrictEqual(
      passages(content, "ts").map(({ heading, text }) => [heading.join(" > "), text.split("\n")[0]]),
      [
        ["", `import { a0 } from "a0"`],
        ["first", "/** First. */"],
        ["class Second", "// Second,"]
      ]
    )
  })
  it("packs small neighbours together, and what is tiny with a neighbour", () => {
    const small = Array.from({ length: 5 }, (_, i) => `def f${i}(x):\n    return x\n`).join("\n")
    const large = `def large():\n${lines(6, "    ")}\n`
    const found = passages(`X = 1\n\n\n${large}\n${small}`, "py")
    assert.deepStrictEqual(found[0]?.heading, ["large"])
    assert.match(found[0]?.text ?? "", /^X = 1\n\n\ndef large/)
    assert.deepStrictEqual(found[1]?.heading, [])
    assert.strictEqual(found.length, 2)
  })
  it("cuts a definition too large at its members, and these at their lines, under their names", () => {
    const member = (name: string, n: number) =>
      `  /** Does ${name}. */\n  ${name}(key: string): void {\n${lines(n, "    ")}\n  }\n`
    const content = `class Store {\n  size = 0\n\n${member("put", 5)}\n${member("get", 6)}\n${member("scan", 18)}}\n`
    const found = passages(content, "ts")
    assert.deepStrictEqual(
      [...new Set(found.map(({ heading }) => heading.join(" > ")))],
      ["class Store > put", "class Store > get", "class Store > scan"]
    )
    assert.match(found[0]?.text ?? "", /^class Store \{\n {2}size = 0\n\n {2}\/\*\* Does put/)
    assert.match(found[1]?.text ?? "", /^ {2}\/\*\* Does get/, "indentation is kept")
    assert.match(found.at(-1)?.text ?? "", /\n {2}\}\n\}$/)
  })
  it("cuts lines rather at blank ones and where nesting is least, never before what closes", () => {
    const block = `    if (alpha) {\n      call(beta)\n    } else {\n      call(gamma)\n    }\n`
    const found = passages(`function long() {\n${Array.from({ length: 12 }, () => block).join("\n")}}\n`, "js")
    assert.isAbove(found.length, 3)
    for (const { heading, text } of found) {
      assert.deepStrictEqual(heading, ["long"])
      assert.match(text, /^(?:function long| {4}if)/)
    }
  })
  it("takes no text in comments, strings and here-documents for code", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["py", `def f():\n    """\n    Doc.\n\nclass Not:\n    pass\n    """\n${lines(9, "    ")}\n`],
      ["ts", `const f = () => {\n  x = \`\nclass Not {\n}\n\`\n${lines(9, "  ")}\n}\n`],
      ["c", `/*\n\nint not(void) {\n}\n*/\nint f(void) {\n${lines(9, "  ")}\n}\n`],
      ["sh", `f() {\n  cat <<EOF\n\nnot() {\n}\nEOF\n${lines(9, "  ")}\n}\n`],
      ["sql", `CREATE FUNCTION f() RETURNS int AS $$\nBEGIN\n\nCREATE TABLE not (a int);\n${lines(9, "  ")}\nEND $$;\n`]
    ]
    for (const [language, content] of cases)
      for (const { heading } of passages(content, language)) assert.isFalse(heading.join().includes("ot"), content)
  })
  it("reads on after a quote that is none", () => {
    const content = `const a = /[\`"']/\n\nfunction first() {\n${lines(6, "  ")}\n}\n\n// it's \`odd\nfunction second() {\n${lines(6, "  ")}\n}\n`
    assert.deepStrictEqual(
      passages(content, "js").map(({ heading }) => heading.join()),
      ["", "first", "second"]
    )
  })
  it("keeps the parts of a definition together that stand at its own depth", () => {
    const cases: ReadonlyArray<readonly [string, string, string]> = [
      ["c", `static int\nfind(int a,\n     int b)\n{\n${lines(7, "  ")}\n}\n`, "find"],
      [
        "c",
        `int f(void)\n{\n${lines(3, "  ")}\n#ifdef DEBUG\n${lines(3, "  ")}\n#endif\n\nout:\n  return 1;\n}\n`,
        "f"
      ],
      [
        "rs",
        `impl<T: A<B> + 'a> Show for Box<T>\nwhere\n    T: Show,\n{\n${lines(7, "    ")}\n}\n`,
        "impl Show for Box<T>"
      ],
      ["sql", `CREATE TABLE users (\n  id int,\n${lines(7, "  ")}\n)\nWITH (fillfactor = 70);\n`, "table users"],
      ["py", `@route(\n    "/x",\n)\nasync def get(\n    a,\n    b,\n) -> None:\n${lines(7, "    ")}\n`, "get"],
      ["java", `@Test public void runs() throws IOException {\n${lines(8, "  ")}\n}\n`, "runs"]
    ]
    for (const [language, content, name] of cases) {
      const found = passages(`${content}\n${content}`, language, 72)
      assert.deepStrictEqual(
        found.map(({ heading, text }) => [heading.join(), text]),
        [
          [name, content.trim()],
          [name, content.trim()]
        ],
        content
      )
    }
  })
  it("keeps what is said of a definition with it: documentation, annotations and attributes, whatever is in them", () => {
    const said = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    const cases: ReadonlyArray<readonly [language: string, above: string, line: string, heading: string]> = [
      [
        "ex",
        `  @doc """\n  ${said}\n\n      iex> put(1)\n\n  def no(more)\n  """\n  @spec put(a) :: b\n`,
        "  def put(a) do",
        "put"
      ],
      ["ex", `  @doc ~S'''\n  ${said}\n\n  More.\n  '''\n  @impl true\n`, "  def put(a) do", "put"],
      ["ex", `  @typedoc """\n  ${said}\n  """\n`, "  @type put ::", "type put"],
      ["ex", `  @doc """\n  ${said}\n  """\n`, "  @callback put(a) ::", "callback put"],
      ["jl", `"""\n    put(x)\n\n${said}\n"""\n`, "@inline function put(x)", "put"],
      ["c", `/* ${said}\n\n   More. */\n`, "int put(int a) {", "put"],
      ["cpp", `// ${said}\n`, "template <typename T> [[nodiscard]] int put(T a) {", "put"],
      ["cpp", `// ${said}\ntemplate <int N, enable_if_t<(N > 0), int> = 0>\n`, "int put(int a) {", "put"],
      ["rs", `/// ${said}\n#[doc = "a ] b"]\n`, "pub fn put() {", "put"],
      ["py", `# ${said}\n#[todo] def no is bad\n`, "def put(a):", "put"],
      ["cs", `/// ${said}\n[return: NotNull]\n[Fact, Trait("a", "b")]\n`, "[Theory] public void put(int a) {", "put"],
      ["rs", `/// ${said}\n#[doc(\n    alias = "x"\n)]\n`, "#[inline] pub fn put() {", "put"],
      ["php", `/** ${said} */\n#[Route("/x")]\n`, "#[Pure] public function put($a) {", "put"],
      ["java", `/**\n * ${said}\n */\n@Override\n@Named("a") // why\n`, "public void put(int a) {", "put"],
      ["kt", `/** ${said} */\n@get:Rule\n@[Inject Named("a")]\n`, "fun put(a: Int) {", "put"],
      ["py", `# ${said}\n@app.get("/x")  # noqa\n`, "async def put(a):", "put"],
      ["ts", `/** ${said} */\n@Component<T>({\n  a: 1 })\n`, "export class put {", "class put"],
      ["swift", `/// ${said}\n@available(iOS 13, *)\n`, "@MainActor func put(a: Int) {", "put"],
      ["scala", `/** ${said} */\n@deprecated("a", "1")\n`, "@tailrec final def put(a: Int): Int = {", "put"],
      ["go", `/*\n${said}\n\nMore.\n*/\n//go:noinline\n`, "func put(a int) {", "put"],
      ["rb", `  # ${said}\n  #\n  # More.\n`, "  def put(a)", "put"],
      ["ps1", `<#\n.SYNOPSIS\n${said}\n\nMore.\n#>\n`, "function put($a) {", "put"]
    ]
    for (const [language, above, line, heading] of cases) {
      const one = `${above}${line}\n${lines(9, "      ")}`
      const named = (name: string) => one.replaceAll("put", name)
      const all = ["first", "second", "third"].map(named).join("\n\n")
      const found = passages(language === "ex" ? `defmodule A do\n${all}\nend\n` : all, language, 110)
      const second = found.filter(({ text }) => text.includes(named("second").trim()))
      assert.deepStrictEqual(
        second.map(({ heading }) => heading.at(-1)),
        [heading.replace("put", "second")],
        one
      )
    }
  })
  it("bounds a line of any length", () => {
    const found = passages(`alpha(beta,gamma);delta={a:1,b:[2,3]};`.repeat(250), "js")
    assert.isAbove(found.length, 50)
    for (const { text } of found.slice(0, -1)) assert.match(text, /[;,})\]>&|]$/)
  })
  it("needs no language", () => {
    const content = `def first():\n${lines(6, "    ")}\n\nfunc second() {\n${lines(6, "\t")}\n}\n`
    const found = chunk(content, options({ size: 64, format: "code" }))
    assert.deepStrictEqual(
      found.map(({ heading }) => heading.join()),
      ["first", "second"]
    )
  })
})

describe("definitionName", () => {
  /** What is named, and what should be. */
  const names = (language: string, cases: Readonly<Record<string, string | undefined>>, member = false) => {
    const found = Object.keys(cases).map((text) => [text, definitionName(text, syntaxOf(language).name, member)])
    return [Object.fromEntries(found) as typeof cases, cases] as const
  }
  it("JavaScript and TypeScript", () => {
    assert.deepStrictEqual(
      ...names("ts", {
        "export const chunk = (content: string): X => {": "chunk",
        "export default async function load(a) {": "load",
        "export default function (": "default",
        "export interface Foo<T> extends Bar {": "interface Foo",
        "export type A = B | C": "type A",
        "export abstract class A extends B {": "class A",
        "const options = {": "options",
        "export const zip = dual<\n  <A>(a: A) => A": "zip",
        "export const flip: {\n  (a: A): B\n} = dual(2, f)": "flip",
        "const wide: |\n  | A": "wide",
        "const typed: A": undefined,
        "const x = 1": undefined,
        "module.exports.run = function (": "run",
        'describe("Store", () => {': "Store",
        "app.get(path, (request) => {": undefined,
        "type of thing is": undefined
      })
    )
    assert.deepStrictEqual(
      ...names(
        "ts",
        {
          "put(key: string): void {": "put",
          "async *gen<T>(x: T): AsyncIterable<T> {": "gen",
          "private readonly on = (x) => {": "on",
          "constructor(private a: B) {": "constructor",
          "get size() {": "size",
          "processAll(x) {": "processAll",
          "if (x) {": undefined,
          "return f(x) {": undefined
        },
        true
      )
    )
  })
  it("Go, Rust, C and their relatives", () => {
    assert.deepStrictEqual(
      ...names("go", { "func (s *Store) Put(k string) error {": "Store.Put", "type Store struct {": "type Store" })
    )
    assert.deepStrictEqual(
      ...names("rs", {
        "pub(crate) async fn run<T: A>(x: T) -> R {": "run",
        "impl<'a, T> Show for Vec<'a, T> {": "impl Show for Vec<'a, T>"
      })
    )
    assert.deepStrictEqual(
      ...names("cpp", {
        "void Foo::bar(int x) const {": "Foo::bar",
        "Foo::Foo() : a(1) {": "Foo::Foo",
        "std::vector<int> f(int x)\n{": "f",
        "class API Foo : public Bar {": "class Foo",
        "struct foo x = {": undefined,
        "struct foo;": undefined,
        "foo(int a);": undefined
      })
    )
    assert.deepStrictEqual(
      ...names("java", {
        "public static void main(String[] args) throws IOException {": "main",
        "public interface Foo {": "interface Foo"
      })
    )
    assert.deepStrictEqual(
      ...names("kt", { "override fun onCreate() {": "onCreate", "data class Point(val x: Int)": "class Point" })
    )
  })
  it("Python, Ruby, PHP, Lua, shell and Elixir", () => {
    assert.deepStrictEqual(
      ...names("py", { "async def run(self):": "run", "class A(B):": "class A", "x = call(": undefined })
    )
    assert.deepStrictEqual(
      ...names("rb", { "def self.run(x)": "self.run", "class A < B": "class A", "module A": "module A" })
    )
    assert.deepStrictEqual(
      ...names("php", { "public function run(): string": "run", "final class A extends B": "class A" })
    )
    assert.deepStrictEqual(...names("lua", { "local function run(x)": "run", "function M.run(x)": "M.run" }))
    assert.deepStrictEqual(...names("sh", { "run() {": "run", "function run {": "run" }))
    assert.deepStrictEqual(...names("ex", { "defmodule A.B do": "defmodule A.B", "defp run(x) do": "run" }))
  })
  it("SQL, Lisp, Haskell, make, CSS and configuration", () => {
    assert.deepStrictEqual(...names("sql", { "create or replace view app.v as": "view app.v", "SELECT 1": undefined }))
    assert.deepStrictEqual(...names("clj", { "(defn run [x]": "defn run" }))
    assert.deepStrictEqual(...names("hs", { "run :: Int -> Int": "run" }))
    assert.deepStrictEqual(...names("mk", { "build: src": "build", "X := 1": undefined }))
    assert.deepStrictEqual(...names("css", { ".a > .b {": ".a > .b" }))
    assert.deepStrictEqual(...names("toml", { "[package]": "[package]", "a = 1": undefined }))
    assert.deepStrictEqual(...names("yml", { "jobs:": "jobs" }))
    assert.deepStrictEqual(
      ...names("kt", { "package okio\n\nimport a.b": undefined, "class Buffer {": "class Buffer" })
    )
    assert.deepStrictEqual(
      ...names("sql", { "CREATE FUNCTION @extschema@.apply_cluster(a text)": "function @extschema@.apply_cluster" })
    )
    assert.deepStrictEqual(...names("tf", { 'resource "aws_s3_bucket" "b" {': "resource aws_s3_bucket b" }))
  })
})
