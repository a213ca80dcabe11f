import Database from "better-sqlite3"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { canMount, inMounts } from "./mounts.ts"
import { Sandbox, ended, program } from "../cli/program/sandbox.ts"
import { sqliteDriver } from "../sqlite.ts"

/** Posts documents until the disk is full for good, and writes down what was acknowledged. */
const poster = `
import { appendFileSync } from "node:fs"
const [url, acknowledged] = process.argv.slice(2)
let refused = 0
for (let n = 0; refused < 4 && n < 4000; n++) {
  const content = Array.from({ length: 40 }, (_, line) => "Line " + line + " of document " + n + " on words" + n * 7 + line).join("\\n\\n")
  const response = await fetch(url + "/index", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ documents: [{ doc_id: "d" + n, content }] })
  })
  if (response.status === 200) appendFileSync(acknowledged, "d" + n + "\\n")
  else {
    refused++
    const { detail } = await response.json()
    if (response.status !== 503 || !/disk is full|I\\/O error/.test(detail)) throw new Error(response.status + " " + detail)
  }
}
if (refused === 0) throw new Error("the disk was never full")
const found = await (await fetch(url + "/query", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ query: "line of document", hybrid: true })
})).json()
if (found.results.length === 0) throw new Error("nothing is found on the full disk")
`

let box: Sandbox
beforeEach(() => {
  box = new Sandbox({ "poster.mjs": poster, acknowledged: "" })
  fs.mkdirSync(box.path("data"))
})
afterEach(() => box.remove())

/** A server on a disk of so many megabytes, filled, killed, and looked at after there is room again. */
const filled = (mebibytes: number) => `
  mount -t tmpfs -o size=${mebibytes}m none $box/data
  $clew serve --port 0 --db $box/data/index.db 2>$box/log & server=$!
  for i in $(seq 200); do url=$(grep -om1 "http://[0-9.:]*" $box/log || true); [ -n "$url" ] && break; sleep 0.05; done
  ${process.execPath} $box/poster.mjs $url $box/acknowledged
  kill -9 $server; wait $server || true
  $clew query "line of document" --db $box/data/index.db >$box/found || { cat $box/log; exit 8; }
  mount -o remount,size=64m $box/data
  $clew info --db $box/data/index.db
  ${process.execPath} -e '
    const db = new (require(process.argv[2]))(process.argv[1])
    console.log(JSON.stringify({ check: db.pragma("integrity_check"), stored: db.prepare("SELECT doc_id FROM documents").pluck().all() }))
  ' $box/data/index.db ${sqliteDriver} >$box/state`

/** So many files of different words. */
const many = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `many/n${n}.md`,
      `# Note ${n}\n\n${Array.from({ length: 60 }, (_, line) => `Line ${line} of ${n} has the word w${n * 131 + line}.`).join("\n\n")}`
    ])
  )

/** An index on a disk that something else has filled but for so many kilobytes, and what a command makes of it. */
const emptied = (kibibytes: number, command: string) => `
  mount -t tmpfs -o size=24m none $box/data
  cp $box/index.db $box/data/index.db
  dd if=/dev/zero of=$box/data/other bs=4096 2>/dev/null || true
  ${kibibytes === 0 ? "" : `truncate -s -${kibibytes}k $box/data/other`}
  $clew ${command} --db $box/data/index.db
  rm $box/data/other
  $clew doctor --db $box/data/index.db >$box/said || { cat $box/said; exit 8; }
  mkdir $box/left
  cp $box/data/index.db* $box/left`

describe("a full disk", () => {
  const notes = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [
      `notes/n${n}.md`,
      `# Note ${n}\n\n${Array.from({ length: 120 }, (_, line) => `Line ${line} of ${n} has the word w${n * 131 + line}.`).join("\n\n")}`
    ])
  )
  /** Where an index of them is, of which each disk gets a copy. */
  const indexed = new Sandbox(notes)
  beforeAll(async () => {
    fs.mkdirSync(indexed.path("data"))
    await indexed.ends(0, ["index", "notes", "--quiet", "--db", "index.db"])
  })
  afterAll(() => indexed.remove())

  /** Kilobytes with which the journal of such an index has room. */
  const enough = 12 * 1024
  for (const kibibytes of [0, 64, enough]) {
    for (const [command, left] of [
      ["delete $box/notes/n3.md --yes", 39],
      ["delete $box/notes --yes", 0],
      ["compact", 40]
    ] as const) {
      it.skipIf(!canMount)(`with ${kibibytes} KB free: ${command.replaceAll("$box/", "")}`, async () => {
        fs.rmSync(indexed.path("left"), { recursive: true, force: true })
        const { code, stderr, stdout } = await inMounts(indexed, emptied(kibibytes, command))
        assert.strictEqual(code, 0, `${stderr}\n${stdout}`)
        assert.strictEqual(/without a journal/.test(stderr), kibibytes < enough, stderr)
        const database = new Database(indexed.path("left", "index.db"))
        assert.strictEqual(database.prepare("SELECT count(*) FROM documents").pluck().get(), left)
        database.close()
      })
    }
  }

  it.skipIf(!canMount)(
    "that indexing has filled: compact says how much room it needs, and works with that, as delete does",
    async () => {
      box.write(many(800))
      const script = `
      mount -t tmpfs -o size=5m none $box/data
      ! $clew index $box/many --quiet --db $box/data/index.db || exit 7
      ! $clew compact --db $box/data/index.db 2>$box/said || exit 8
      mebibytes=$(grep -o 'make [0-9]* MB' $box/said | grep -o '[0-9]*')
      mount -o remount,size=$((5 + mebibytes))m $box/data
      $clew compact --db $box/data/index.db
      $clew delete $box/many/n1.md --yes --db $box/data/index.db
      $clew doctor --db $box/data/index.db`
      const { code, stderr, stdout } = await inMounts(box, script)
      assert.strictEqual(code, 0, `${stderr}\n${stdout}`)
      assert.match(stdout, /Compacted the index[^]*Deleted 1 document/)
    }
  )
})

describe("a disk that fills while rows are swept", () => {
  const indexed = new Sandbox(many(1000))
  beforeAll(async () => {
    fs.mkdirSync(indexed.path("data"))
    await indexed.ends(0, ["index", "many", "--quiet", "-c", "m", "--db", "small.db"])
  }, 120_000)
  afterAll(() => indexed.remove())

  /** The index on a disk with so many kilobytes beside it. */
  const swept = (kibibytes: number, command: string) => `
    mount -t tmpfs -o size=$(($(stat -c %s $box/small.db) / 1024 + ${kibibytes}))k none $box/data
    cp $box/small.db $box/data/index.db
    timeout 60 $clew ${command} --db $box/data/index.db 2>$box/said; cat $box/said
    $clew doctor --db $box/data/index.db || true
    mount -o remount,size=64m $box/data
    $clew compact --db $box/data/index.db
    $clew doctor --db $box/data/index.db`
  for (const [kibibytes, command, done] of [
    [1500, "collections drop m --yes", /Dropped collection m/],
    [10_000, "reindex --force -c m", /Collection m now has/]
  ] as const) {
    it.skipIf(!canMount)(`${command} returns, and says what waits`, async () => {
      const { code, stderr, stdout } = await inMounts(indexed, swept(kibibytes, command))
      assert.strictEqual(code, 0, `${stderr}\n${stdout}\n${fs.readFileSync(indexed.path("said"), "utf8")}`)
      assert.match(stdout, done)
      assert.match(stdout, /^\[[0-9:.]+\] WARN .*is not deleted yet.*the disk is full/m)
      assert.notMatch(stdout, /timestamp=/)
      // What the sweep of a drop has left in the WAL fits into the file.
      assert.strictEqual(/make room for what is in .*index\.db-wal first/.test(stdout), command.startsWith("reindex"))
    })
  }
})

describe("a file that may not grow", () => {
  it("is not called the index's fault by backup", async () => {
    box.write({ "notes/a.md": "# Rivers\n\nThe Rhine is one." })
    await box.ends(0, ["index", "notes", "--db", "index.db"])
    const child = spawn(
      "sh",
      ["-c", 'ulimit -f 100 && exec "$@"', "sh", process.execPath, program, "backup", "b.db", "--db", "index.db"],
      {
        cwd: box.folder,
        env: { PATH: process.env["PATH"], HOME: box.path("home"), CLEW_EMBEDDING_BACKEND: "builtin" }
      }
    )
    const { code, stderr } = await ended(child)
    assert.strictEqual(code, 1)
    assert.match(stderr, /b\.db cannot be written, or what is copied there cannot be read/)
    assert.notMatch(stderr, /index\.db is not available/)
  })
})

describe("a disk that fills up", () => {
  for (const mebibytes of [1, 3]) {
    it.skipIf(!canMount)(`at ${mebibytes} MB loses nothing that was acknowledged`, async () => {
      const { code, stderr, stdout } = await inMounts(box, filled(mebibytes))
      assert.strictEqual(code, 0, `${stderr}\n${stdout}\n${fs.readFileSync(box.path("log"), "utf8").slice(-2000)}`)
      const acknowledged = fs.readFileSync(box.path("acknowledged"), "utf8").split("\n").slice(0, -1)
      const { check, stored } = JSON.parse(fs.readFileSync(box.path("state"), "utf8")) as {
        readonly check: unknown
        readonly stored: ReadonlyArray<string>
      }
      assert.isAbove(acknowledged.length, 2)
      assert.deepStrictEqual(check, [{ integrity_check: "ok" }])
      const kept = new Set(stored)
      assert.deepStrictEqual(
        acknowledged.filter((id) => !kept.has(id)),
        []
      )
    })
  }
})
