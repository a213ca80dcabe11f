import type { ChildProcess } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync } from "node:fs"
import { afterEach, assert, beforeEach, it } from "vitest"
import { connect } from "../../../src/client.ts"
import { KeyReport } from "../../../src/cli/keys.ts"
import { Stats } from "../../../src/model/Stats.ts"
import { ended, listening, Sandbox } from "./sandbox.ts"

let box: Sandbox
let running: Array<ChildProcess> = []
beforeEach(() => {
  box = new Sandbox()
  mkdirSync(box.path("tmp"))
})
afterEach(() => {
  for (const child of running) child.kill("SIGKILL")
  running = []
  box.remove()
})

const serve = async () => {
  const child = box.start(["serve", "--port", "0", "--config", "clew.toml"], { env: { TMPDIR: box.path("tmp") } })
  running.push(child)
  const end = ended(child)
  return { child, end, url: await listening(child) }
}

it("makes a key that a server takes from its configuration, as long as it is there", async () => {
  const made = await box.json(KeyReport, ["keys", "new", "ci", "--rights", "read,write", "--collection", "docs"])
  assert.strictEqual(made.hash, `sha256:${createHash("sha256").update(made.key).digest("hex")}`)
  assert.deepInclude(made as object, { name: "ci", rights: ["read", "write"], collections: ["docs"] })
  assert.notInclude(made.toml, made.key)
  const { stderr, stdout } = await box.run(["keys", "new", "other"])
  assert.match(
    stdout,
    /^clew_[\w-]{43}\n\n\[\[server\.keys\]\]\nname = "other"\nhash = "sha256:[0-9a-f]{64}"\nrights = \["read"\]\n$/
  )
  assert.match(stderr, /give the first line/)
  await box.ends(2, ["keys", "new", "ci", "--rights", "all"], "read, write, admin")
  await box.ends(2, ["keys", "new", "c i"], "NAME must be 1 to 64 letters")
  await box.ends(2, ["keys", "new", "k".repeat(500)], "got 500 characters")

  box.write({ "clew.toml": made.toml })
  const { url } = await serve()
  const clew = connect({ url, apiKey: made.key })
  assert.deepInclude((await clew.whoami()) as object, { name: "ci", collections: ["docs"], authenticated: true })
  const files = [{ name: "notes/bees.md", content: "Bees make honey." }]
  assert.deepInclude(await clew.files({ files, collection: "docs" }), { indexed: 1 })
  const refused = await clew.files({ files }).catch((error) => error)
  assert.strictEqual(refused._tag, "NotPermitted")
  const { results } = await clew.query({ query: "honey" })
  assert.strictEqual(results[0]?.metadata["source"], "notes/bees.md")

  const next = await box.json(KeyReport, ["keys", "new", "ci"])
  box.write({ "clew.toml": next.toml })
  const isLetIn = () =>
    clew.stats().then(
      () => true,
      ({ status }) => status !== 401
    )
  while (await isLetIn());
  assert.deepInclude(await connect({ url, apiKey: next.key }).whoami(), { name: "ci", rights: ["read"] })
})

it("stops a job at a safe point when it is told to stop, and leaves nothing of what was uploaded", async () => {
  box.write({ "clew.toml": "" })
  const { child, end, url } = await serve()
  const clew = connect({ url })
  const files = Array.from({ length: 200 }, (_, n) => ({
    name: `${n}.md`,
    content: `# Note ${n}\n\n${`Sentence ${n} about tides and bees. `.repeat(150)}`
  }))
  const job = await clew.begin({ kind: "files", files })
  assert.include(["queued", "running"], job.state)
  let last = job
  for await (const now of clew.follow(job.id)) {
    if (last.progress === undefined && now.progress !== undefined) child.kill("SIGTERM")
    last = now
  }
  assert.strictEqual(last.state, "cancelled")
  assert.strictEqual((await end).code, 0)
  assert.deepStrictEqual(readdirSync(box.path("tmp")), [])
  await box.ends(0, ["doctor"])
  const { documents } = await box.json(Stats, ["info"])
  assert.isAbove(documents, 0)
  assert.isBelow(documents, files.length)
})
