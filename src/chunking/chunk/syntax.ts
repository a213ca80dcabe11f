/** The syntax needed to find a language's definitions: how comments and long strings are written. */
export interface Syntax {
  readonly name: Family
  readonly lineComments: ReadonlyArray<string>
  /** Delimiters of comments and strings that may span lines. */
  readonly blocks: ReadonlyArray<readonly [open: string, close: string]>
  readonly hereDocument: RegExp | undefined
  /** Whether `/…/` may be a regular expression. */
  readonly regex: boolean
}

export type Family =
  | "c"
  | "jvm"
  | "js"
  | "go"
  | "python"
  | "hash"
  | "php"
  | "sql"
  | "lua"
  | "haskell"
  | "lisp"
  | "ml"
  | "markup"
  | "css"
  | "config"
  | "yaml"
  | "make"

const comment = ["/*", "*/"] as const
const shellDocument = /<<[-~]? ?(["'`]?)([A-Z_][A-Z0-9_]*)\1/y

const syntaxes: Readonly<Record<Family, Omit<Syntax, "name">>> = {
  c: { lineComments: ["//"], blocks: [comment], hereDocument: undefined, regex: false },
  jvm: { lineComments: ["//"], blocks: [comment, ['"""', '"""']], hereDocument: undefined, regex: false },
  js: { lineComments: ["//"], blocks: [comment, ["`", "`"]], hereDocument: undefined, regex: true },
  go: { lineComments: ["//"], blocks: [comment, ["`", "`"]], hereDocument: undefined, regex: false },
  python: {
    lineComments: ["#"],
    blocks: [
      ['"""', '"""'],
      ["'''", "'''"]
    ],
    hereDocument: undefined,
    regex: false
  },
  hash: { lineComments: ["#"], blocks: [], hereDocument: shellDocument, regex: false },
  php: { lineComments: ["//", "#"], blocks: [comment], hereDocument: /<<<\s*(["']?)([A-Za-z_]\w*)\1/y, regex: false },
  sql: { lineComments: ["--"], blocks: [comment, ["$$", "$$"]], hereDocument: undefined, regex: false },
  lua: {
    lineComments: ["--"],
    blocks: [
      ["--[[", "]]"],
      ["[[", "]]"]
    ],
    hereDocument: undefined,
    regex: false
  },
  haskell: { lineComments: ["--"], blocks: [["{-", "-}"]], hereDocument: undefined, regex: false },
  lisp: { lineComments: [";"], blocks: [["#|", "|#"]], hereDocument: undefined, regex: false },
  ml: { lineComments: [], blocks: [["(*", "*)"]], hereDocument: undefined, regex: false },
  markup: { lineComments: [], blocks: [["<!--", "-->"]], hereDocument: undefined, regex: false },
  css: { lineComments: ["//"], blocks: [comment], hereDocument: undefined, regex: false },
  config: { lineComments: ["#", ";"], blocks: [['"""', '"""']], hereDocument: undefined, regex: false },
  yaml: { lineComments: ["#"], blocks: [], hereDocument: undefined, regex: false },
  make: { lineComments: ["#"], blocks: [], hereDocument: undefined, regex: false }
}

const languages: Readonly<Record<Family, string>> = {
  c: "c h cc cpp cxx hpp hh hxx m mm cs rs zig d proto thrift glsl hlsl wgsl cu v sv graphql gql tf hcl sol c++ csharp rust",
  jvm: "java kt kts scala sc swift groovy gradle dart kotlin",
  js: "js jsx mjs cjs ts tsx mts cts javascript typescript",
  go: "go golang",
  python: "py pyi pyx pyw gd bzl star python",
  hash: "sh bash zsh fish ksh rb rake pl pm r ex exs jl ps1 psm1 tcl nim cr awk nix ruby perl elixir julia shell powershell cmake",
  php: "php phtml",
  sql: "sql psql mysql ada adb ads vhd vhdl",
  lua: "lua luau",
  haskell: "hs lhs elm purs haskell",
  lisp: "clj cljs cljc edn lisp lsp el scm ss rkt asm s clojure",
  ml: "ml mli fs fsi fsx pas sml ocaml pascal",
  markup: "html htm xml xhtml svg vue svelte xsl xsd",
  css: "css scss less sass",
  config: "toml ini cfg conf properties env editorconfig",
  yaml: "yaml yml",
  make: "makefile mk mak gnumakefile"
}

const familyOf = new Map(
  Object.entries(languages).flatMap(([family, names]) =>
    names.split(" ").map((name) => [name, family as Family] as const)
  )
)

/** A file's extension or a language's name, in any case; an unknown one is read like C and its relatives. */
export const syntaxOf = (language: string | undefined): Syntax => {
  const name = familyOf.get((language ?? "").toLowerCase().replace(/^\./, "")) ?? "c"
  return { name, ...syntaxes[name] }
}
