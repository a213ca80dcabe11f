import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Either from "effect/Either"
import { readdirSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { gzipSync } from "node:zlib"
import { sourceOf } from "../../src/http/files.ts"
import { parameterOf } from "../../src/http/form.ts"
import { form, formBytes, formType } from "./forms.ts"
import { ask, raw, start } from "./server.ts"

const kept = (prefix: string) => readdirSync(tmpdir()).filter((name) => name.startsWith(prefix))

it.scopedLive("indexes the files of a form, each by the name that it was given", () =>
  Effect.gen(function* () {
    const before = kept("clew-files-")
    const { port } = yield* start({ files: true })
    const { json, status } = yield* ask(
      port,
      "POST",
      "/files",
      form([
        { name: "file", file: "notes/bees.md", content: "# Bees\n\nBees make honey." },
        { name: "file", file: '日本語 "ノート".txt', content: "Kestrels hover over fields." },
        {
          name: "file",
          file: "page.html",
          content: "<!doctype html><title>Tides</title><p>The tide is highest at noon."
        },
        {
          name: "file",
          file: "rows.jsonl",
          content: '{"id": "a", "text": "first row"}\n{"id": "b", "text": "second row"}\n'
        },
        { name: "file", file: "empty.txt", content: "" },
        {
          name: "file",
          file: "picture.png",
          content: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1)
        },
        { name: "file", file: "../../etc/passwd", content: "root" },
        { name: "file", file: "/etc/passwd", content: "root" },
        { name: "file", file: "C:\\secrets.txt", content: "root" },
        { name: "collection", content: "papers" },
        { name: "prefix", content: "inbox" }
      ])
    )
    assert.strictEqual(status, 200, JSON.stringify(json))
    assert.sameMembers(
      json.documents.map(({ source }: { source: string }) => source),
      [
        "inbox/notes/bees.md",
        'inbox/日本語 "ノート".txt',
        "inbox/page.html",
        "inbox/rows.jsonl#a",
        "inbox/rows.jsonl#b"
      ]
    )
    assert.include(json, { indexed: 5, unchanged: 0 })
    assert.sameMembers(
      json.skipped.map(({ source }: { source: string }) => source),
      ["inbox/empty.txt", "inbox/picture.png"]
    )
    const failed: ReadonlyArray<{ source: string; reason: string }> = json.failed
    assert.sameMembers(
      failed.map(({ source }) => source),
      ["../../etc/passwd", "/etc/passwd", "C:\\secrets.txt"]
    )
    assert.match(failed[0]!.reason, /\.\./)
    assert.match(failed[1]!.reason, /absolute/)
    const found = yield* ask(port, "POST", "/query", {
      body: { query: "who makes honey", hybrid: true, collection: "papers" }
    })
    assert.strictEqual(found.json.results[0].metadata.source, "inbox/notes/bees.md")
    assert.deepStrictEqual(kept("clew-files-"), before)
  })
)

it.scopedLive("indexes again only what changed, and refuses absolute names", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ files: true })
    const send = (content: string) =>
      ask(
        port,
        "POST",
        "/files",
        form([
          { name: "file", file: "a.md", content },
          { name: "file", file: "/etc/passwd", content: "root" },
          { name: "file", file: "C:\\secrets.txt", content: "root" }
        ])
      )
    assert.deepInclude((yield* send("One sentence.")).json, { indexed: 1, unchanged: 0 })
    const again = (yield* send("One sentence.")).json
    assert.deepInclude(again, { indexed: 0, unchanged: 1 })
    assert.sameMembers(
      again.failed.map(({ source }: { source: string }) => source),
      ["/etc/passwd", "C:\\secrets.txt"]
    )
    assert.deepInclude((yield* send("Another sentence.")).json, { indexed: 1, unchanged: 0 })
    const misnamed = form([
      { name: "file", file: "a.md", content: "One sentence." },
      { name: "collection", content: ".notes" }
    ])
    assert.include((yield* ask(port, "POST", "/files", misnamed)).json.detail, "starts with a letter or digit")
    // Of what is damaged, nobody knows what it says.
    const pdf = (content: string) => ask(port, "POST", "/files", form([{ name: "file", file: "a.pdf", content }]))
    const plain = form([{ name: "file", file: "a.pdf", content: "Not a PDF, but words." }])
    assert.deepInclude((yield* ask(port, "POST", "/files", plain)).json, { indexed: 1 })
    assert.match((yield* pdf("%PDF-1.4\n1 0 obj")).json.skipped[0].reason, /not a valid PDF/)
    assert.lengthOf((yield* ask(port, "GET", "/documents")).json.documents, 2)
    yield* pdf("")
    // What says nothing any more leaves nothing of what it said.
    yield* send(" \n")
    assert.isEmpty((yield* ask(port, "GET", "/documents")).json.documents)
    const rows = (text: string) => form([{ name: "file", file: "rows.jsonl", content: text }])
    yield* ask(port, "POST", "/files", rows('{"id":1,"text":"one"}\n{"id":2,"text":"two"}\n'))
    yield* ask(port, "POST", "/files", rows('{"id":1,"text":""}\n{"id":2,"text":"two"}\n'))
    const sources = (yield* ask(port, "GET", "/documents")).json.documents.map(
      (each: { source: string }) => each.source
    )
    assert.deepStrictEqual(sources, ["rows.jsonl#2"])
    yield* ask(port, "POST", "/files", rows(""))
    assert.isEmpty((yield* ask(port, "GET", "/documents")).json.documents)
  })
)

it("lets no name out of its folder, whatever is in it", () => {
  const piece = FastCheck.constantFrom("..", ".", "/", "\\", "a", "C:", " ", "\0", "日", "%2e")
  FastCheck.assert(
    FastCheck.property(
      FastCheck.array(piece, { maxLength: 8 }),
      FastCheck.constantFrom("", "in", "in/"),
      (pieces, prefix) => {
        const source = sourceOf(prefix, pieces.join(""))
        if (Either.isLeft(source)) return
        assert.notMatch(source.right, /^[/\\]|^[a-z]:[/\\]|\0/i)
        assert.notInclude(source.right.split(/[/\\]/), "..")
      }
    )
  )
})

it("reads any name in Content-Disposition", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.string({ unit: "binary" }), (name) => {
      const written = name
        .replaceAll("%22", "")
        .replaceAll(/%0[AD]/gi, "")
        .replaceAll(/[\\\r\n]/g, "")
      const header = `form-data; name="file"; filename="${written.replaceAll('"', "%22")}"`
      assert.strictEqual(parameterOf(header, "filename"), written)
      assert.strictEqual(parameterOf(header, "name"), "file")
    })
  )
  assert.strictEqual(parameterOf('form-data; name=file; filename="a \\"b\\".md"', "filename"), 'a "b".md')
  assert.isUndefined(parameterOf("form-data", "filename"))
  assert.isUndefined(parameterOf("form-data; x; y=", "filename"))
})

it.scopedLive("says what is wrong with a form, and goes on serving", () =>
  Effect.gen(function* () {
    const { port } = yield* start({
      files: true,
      settings: { server: { max_body_bytes: 4096 }, limits: { max_batch: 2, max_file_bytes: 1000 } }
    })
    const send = (bytes: Uint8Array, headers: Record<string, string> = { "content-type": formType }) =>
      ask(port, "POST", "/files", { bytes, headers })
    const file = (name: string, content = "Bees make honey.") => ({ name: "file", file: name, content })
    const tooMany = yield* send(formBytes([file("a"), file("b"), file("c")]))
    assert.deepInclude(tooMany.json, { status: 400, _tag: "InvalidRequest" })
    assert.match(tooMany.json.detail, /limits\.max_batch/)
    assert.deepInclude((yield* send(Buffer.from("{}"), { "content-type": "application/json" })).json, {
      status: 415,
      _tag: "UnsupportedMediaType"
    })
    const whole = formBytes([file("a")])
    for (const bytes of [whole.subarray(0, -30), Buffer.from("nothing of a form"), Buffer.alloc(0)]) {
      assert.strictEqual((yield* send(bytes)).status, 400, bytes.toString())
    }
    assert.strictEqual((yield* send(whole, { "content-type": "multipart/form-data" })).json._tag, "MalformedBody")
    assert.match((yield* send(formBytes([{ name: "zoo", content: "1" }]))).json.detail, /zoo is unknown/)
    assert.match((yield* send(formBytes([{ name: "collection", content: "papers" }]))).json.detail, /no file/)
    assert.match(
      (yield* send(formBytes([file("a"), { name: "collection", content: "a b" }]))).json.detail,
      /collection/
    )
    assert.match((yield* send(formBytes([file("a"), { name: "prefix", content: "../x" }]))).json.detail, /\.\./)
    assert.deepInclude((yield* send(Buffer.alloc(5000))).json, { status: 413, _tag: "PayloadTooLarge" })
    const chunked = yield* raw(
      port,
      `POST /files HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${formType}\r\ntransfer-encoding: chunked\r\n\r\n2000\r\n${"x".repeat(8192)}\r\n`
    )
    assert.match(chunked, /^HTTP\/1\.1 413 /)
    const long = yield* send(formBytes([file("long.txt", "word ".repeat(300)), file("good.md")]))
    assert.deepInclude(long.json, { indexed: 1 })
    assert.match(long.json.failed[0].reason, /1000|limit|larger/)
  })
)

it.scopedLive("says that it has no folder for what is sent, and serves on", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ files: true })
    const send = ask(port, "POST", "/files", form([{ name: "file", file: "a.md", content: "# Bees" }]))
    const { TMPDIR } = process.env
    yield* Effect.acquireUseRelease(
      Effect.sync(() => (process.env["TMPDIR"] = "/nowhere/at/all")),
      () =>
        Effect.map(send, ({ json, status }) => {
          assert.strictEqual(status, 503)
          assert.strictEqual(
            json.detail,
            "What was sent cannot be kept in all until it is read: there is no such folder; start the server with a TMPDIR that can be written and has room"
          )
        }),
      () =>
        Effect.sync(() => {
          if (TMPDIR === undefined) delete process.env["TMPDIR"]
          else process.env["TMPDIR"] = TMPDIR
        })
    )
    assert.strictEqual((yield* send).status, 200)
  })
)

it.scopedLive("receives the files of no more forms than jobs may wait", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ files: true })
    const bytes = formBytes([{ name: "file", file: "bees.md", content: "Bees make honey." }])
    const head = `POST /files HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${formType}\r\ncontent-length: 1000000\r\n\r\n`
    const unfinished = Array.from({ length: 16 }, () => connect(port, "127.0.0.1").on("error", () => {}))
    for (const socket of unfinished) socket.write(Buffer.concat([Buffer.from(head), bytes]))
    const send = ask(port, "POST", "/files", { bytes, headers: { "content-type": formType } })
    const until = (status: number) =>
      Effect.repeat(Effect.zipLeft(send, Effect.sleep("20 millis")), {
        until: (answer) => answer.status === status,
        times: 100
      })
    assert.strictEqual((yield* until(503)).json._tag, "JobsBusy")
    for (const socket of unfinished) socket.destroy()
    assert.strictEqual((yield* until(200)).status, 200)
  })
)

it.scopedLive("imports what was exported, gzipped or not, and nothing of what is not an export", () =>
  Effect.gen(function* () {
    const documents = [{ content: "Bees make honey.", metadata: { source: "bees.md" } }]
    const { port } = yield* start({ documents })
    const embedding = { backend: "test", model: "words", dimensions: 32, query_prefix: "", passage_prefix: "" }
    const vector = Buffer.from(new Float32Array(32).fill(0.1768).buffer).toString("base64")
    const lines = [
      { format: "clew-export", version: 1, clew: "0", collections: [{ name: "moved", embedding }] },
      {
        collection: "moved",
        doc_id: "k",
        source: "kestrels.md",
        metadata: {},
        fingerprint: "f",
        content: "Kestrels hover.",
        passages: [{ start: 0, end: 15, start_line: 1, end_line: 1, heading: [], vector }]
      },
      { end: true, documents: 1, passages: 1 }
    ]
    const text = lines.map((line) => JSON.stringify(line)).join("\n")
    const send = (bytes: Uint8Array, type = "application/x-ndjson") =>
      ask(port, "POST", "/import", { bytes, headers: { "content-type": type } })
    const wrong = yield* send(Buffer.from(text.replace('"end":15', '"end":99')))
    assert.deepInclude(wrong.json, { status: 400, _tag: "NotAnExport" })
    assert.strictEqual((yield* ask(port, "GET", "/collections")).json.collections.length, 1)
    const first = yield* send(Buffer.from(text))
    assert.deepInclude(first.json, { documents: 1, chunks: 1, unchanged: 0, skipped: 0 }, first.text)
    const again = yield* send(gzipSync(text), "application/gzip")
    assert.deepInclude(again.json, { documents: 1, unchanged: 1 })
    const found = yield* ask(port, "GET", "/documents?collection=moved")
    assert.strictEqual(found.json.documents[0].source, "kestrels.md")
    assert.strictEqual((yield* send(Buffer.from(text), "application/x-www-form-urlencoded")).status, 415)
    const mebibyte = 1024 * 1024
    // A little of what is compressed may be a line of any length.
    for (const [lines, most] of [
      ["a".repeat(17 * mebibyte), 16 * mebibyte],
      [`${text.split("\n")[0]!}\n${" ".repeat(2 * mebibyte)}`, mebibyte]
    ] as const) {
      const small = yield* start({ settings: { server: { max_body_bytes: mebibyte } } })
      const { json, status } = yield* ask(small.port, "POST", "/import", {
        bytes: gzipSync(lines),
        headers: { "content-type": "application/gzip" }
      })
      assert.strictEqual(status, 400)
      assert.include(json.detail, `a line of more than ${most} bytes`)
    }
  })
)
