import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Code from "../../../src/files/Loader/Code.ts"
import { formats } from "../../../src/files/Loader/formats.ts"
import * as JsonLines from "../../../src/files/Loader/JsonLines.ts"
import * as Markdown from "../../../src/files/Loader/Markdown.ts"
import * as Text from "../../../src/files/Loader/Text.ts"
import { fileFormatContract } from "../../contracts/FileFormat.ts"

const file = (path: string, text: string) => ({ path, bytes: new TextEncoder().encode(text) })
const utf16 = (path: string, text: string) => ({
  path,
  bytes: Uint8Array.from(Buffer.from(`\ufeff${text}`, "utf16le"))
})

fileFormatContract(Text.format, {
  takes: [
    file("/n/a.txt", "Grüße\r\nAlso 日本"),
    file("/n/README", "# Title\n"),
    utf16("/n/b.log", "Grüße\n"),
    file("/n/c.json", "{}"),
    // Comments that no picture follows once took for ever.
    file("/n/comments.txt", `${"<!---->".repeat(500)}x`),
    file("/n/open.txt", `<!DOCTYPE html>${"<!--".repeat(1000)}`)
  ],
  leaves: [file("/n/a.txt", "%PDF-1.7\n"), file("/n/a.ipynb", '{"cells": []}')]
})

fileFormatContract(Markdown.format, {
  takes: [
    file("/n/a.md", "---\ntitle: A\nsource: b\n---\n# A\n"),
    file("/n/b.markdown", "text"),
    file("/n/c.txt", "\ufeff---\ntags: [a]\n---\n# A\n"),
    file("/n/broken.md", "---\ntitle: a: b\n---\ntext"),
    utf16("/n/d.MD", "+++\ntitle = 'T'\n+++\n")
  ],
  leaves: [
    file("/n/a.txt", "# not by its name"),
    file("/n/a.txt", "---\na: 1\n---\nno heading"),
    file("/n/a.py", "# comment")
  ]
})

fileFormatContract(Code.format, {
  takes: [
    file("/n/a.py", "def f(): pass\n"),
    file("/n/Makefile", "all:\n"),
    file("/n/CMakeLists.txt", "project(x)"),
    file("/n/run", "#!/bin/sh\necho\n"),
    file("/n/x.TS", "export {}")
  ],
  leaves: [file("/n/a.txt", "#!/bin/sh\n"), file("/n/run", "echo"), file("/n/a.md", "def f(): pass")]
})

fileFormatContract(JsonLines.format, {
  takes: [
    file(
      "/n/a.jsonl",
      '\ufeff{"_id": "ä", "text": "日本語"}\r\n\nbad\n{"id": 2, "text": "b", "source": 1, "title": "t"}'
    ),
    utf16("/n/b.ndjson", '{"text": "Grüße"}\n[1]\n'),
    file("/n/c.jsonl", "[1]\n")
  ],
  leaves: [
    file("/n/a.jsonl", "prose\nmore"),
    file("/n/lines.jsonl", `x${"\n".repeat(60_000)}x`),
    file("/n/a.json", '{"text": "a"}\n{"text": "b"}')
  ]
})

describe("formats", () => {
  it("ends with the one that takes every text", () => {
    assert.strictEqual(formats(() => Effect.never).at(-1), Text.format)
  })
})
