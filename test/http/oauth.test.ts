import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as jose from "jose"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { ask, type Line, start } from "./server.ts"

const audience = "https://search.example.org/mcp"

/** An issuer of tokens on this machine: its keys, and whether it answers. */
const issuer = Effect.acquireRelease(
  Effect.promise(async () => {
    const keys: Array<jose.JWK> = []
    const asked: Array<string> = []
    const state = { isDown: false, saysOther: false, hasNoKeys: false }
    const server = Http.createServer((request, response) => {
      asked.push(request.url!)
      if (state.isDown) return void response.writeHead(500).end()
      if (request.url === "/keys" && state.hasNoKeys) return void response.writeHead(500).end()
      if (request.url === "/keys") return void response.end(JSON.stringify({ keys }))
      if (request.url !== "/.well-known/openid-configuration") return void response.writeHead(404).end()
      response.end(JSON.stringify({ issuer: state.saysOther ? "https://other.example" : url, jwks_uri: `${url}/keys` }))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    /** Makes a key, and signs tokens with it. */
    const signer = async (kid: string, isKnown = true) => {
      const { privateKey, publicKey } = await jose.generateKeyPair("ES256")
      if (isKnown) keys.push({ ...(await jose.exportJWK(publicKey)), kid, alg: "ES256" })
      const sign = (claims: jose.JWTPayload = {}, exp: number | string = "5 min") =>
        new jose.SignJWT({ scope: "clew other", ...claims })
          .setProtectedHeader({ alg: "ES256", kid })
          .setIssuer(url)
          .setAudience(audience)
          .setExpirationTime(exp)
          .sign(privateKey)
      return { privateKey, publicKey, sign }
    }
    return { asked, keys, server, signer, state, url }
  }),
  ({ server }) =>
    Effect.promise(() => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })
)

const setting = (url: string) => ({
  server: { oauth_issuer: url, oauth_audience: audience, oauth_scope: "clew" }
})

const get = (port: number, token?: string, path = "/documents/x") =>
  ask(port, "GET", path, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })

const challenged = ({ headers }: { readonly headers: Http.IncomingHttpHeaders }) => String(headers["www-authenticate"])

it.scopedLive("says who issues tokens, and asks for one", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* issuer
    const { port } = yield* start({ settings: setting(url) })
    for (const suffix of ["", "/mcp"]) {
      const found = yield* get(port, undefined, `/.well-known/oauth-protected-resource${suffix}`)
      assert.deepStrictEqual(found.json, {
        resource: audience,
        authorization_servers: [url],
        bearer_methods_supported: ["header"],
        scopes_supported: ["clew"]
      })
    }
    const challenge = 'resource_metadata="https://search.example.org/.well-known/oauth-protected-resource/mcp"'
    for (const [method, path] of [
      ["POST", "/mcp"],
      ["GET", "/stats"],
      ["POST", "/query"]
    ] as const) {
      const refused = yield* ask(port, method, path, method === "POST" ? { body: {} } : {})
      assert.strictEqual(refused.status, 401, path)
      assert.include(challenged(refused), `Bearer ${challenge}`)
      assert.notInclude(challenged(refused), "error=")
    }
    assert.strictEqual((yield* get(port, undefined, "/health")).status, 200)
    // What cannot be a token does not bother the issuer.
    assert.include(challenged(yield* get(port, "no token")), 'error="invalid_token"')
    assert.deepStrictEqual(asked, [])
  })
)

it.scopedLive("lets in who has a valid token, and nobody else", () =>
  Effect.gen(function* () {
    const { asked, signer, state, url } = yield* issuer
    const { port } = yield* start({ settings: setting(url), apiKey: "secret" })
    const [{ privateKey, publicKey, sign }, stranger] = yield* Effect.promise(() =>
      Promise.all([signer("a"), signer("a", false)])
    )
    const token = (claims?: jose.JWTPayload, exp?: number | string) => Effect.promise(() => sign(claims, exp))
    assert.strictEqual((yield* get(port, yield* token())).status, 404)
    assert.strictEqual((yield* get(port, "secret")).status, 404)
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
    }
    const headers = { authorization: `Bearer ${yield* token()}`, accept: "application/json, text/event-stream" }
    assert.strictEqual((yield* ask(port, "POST", "/mcp", { body: initialize, headers })).status, 200)

    const now = Math.floor(Date.now() / 1000)
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const claims = { iss: url, aud: audience, exp: now + 300, scope: "clew" }
    const spki = yield* Effect.promise(() => jose.exportSPKI(publicKey))
    const withSecret = yield* Effect.promise(() =>
      new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "a" }).sign(new TextEncoder().encode(spki))
    )
    const signed = (claims: jose.JWTPayload) =>
      Effect.promise(() => new jose.SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "a" }).sign(privateKey))
    const valid = yield* token()
    const wrong: Readonly<Record<string, readonly [token: string, why: string]>> = {
      expired: [yield* token({}, now - 60), '"exp" claim'],
      "not valid yet": [yield* token({ nbf: now + 120 }), '"nbf" claim'],
      "of another issuer": [yield* signed({ ...claims, iss: "https://evil.example" }), '"iss" claim'],
      "for another audience": [yield* signed({ ...claims, aud: "https://other.example/mcp" }), '"aud" claim'],
      "for ever": [yield* signed({ iss: url, aud: audience, scope: "clew" }), 'missing required "exp"'],
      "signed by a stranger": [yield* Effect.promise(() => stranger.sign()), "signature"],
      "signed by nobody": [`${part({ alg: "none" })}.${part(claims)}.`, "neither the API key nor a JWT"],
      "with an empty signature": [`${part({ alg: "none" })}.${part(claims)}.AA`, '"alg"'],
      "signed with the public key as a secret": [withSecret, '"alg"'],
      "with other claims than signed": [
        `${valid.split(".")[0]}.${part({ ...claims, sub: "root" })}.${valid.split(".")[2]}`,
        "signature"
      ]
    }
    for (const [what, [bad, why]] of Object.entries(wrong)) {
      const refused = yield* get(port, bad)
      assert.strictEqual(refused.status, 401, what)
      assert.include(challenged(refused), 'error="invalid_token"', what)
      assert.include(refused.json.detail, why, what)
    }
    const narrow = yield* get(port, yield* token({ scope: "other" }))
    assert.strictEqual(narrow.status, 403)
    assert.include(challenged(narrow), 'error="insufficient_scope"')
    // The keys are kept, also while the issuer is down.
    state.isDown = true
    assert.strictEqual((yield* get(port, yield* token())).status, 404)
    assert.lengthOf(
      asked.filter((path) => path === "/keys"),
      1
    )
  })
)

it.scopedLive("finds a new key of the issuer, and says when it cannot ask", () =>
  Effect.gen(function* () {
    const { keys, signer, state, url } = yield* issuer
    const { port } = yield* start({ settings: setting(url) })
    const first = yield* Effect.promise(() => signer("a"))
    state.isDown = true
    const down = yield* get(port, yield* Effect.promise(() => first.sign()))
    assert.strictEqual(down.status, 503)
    assert.strictEqual(down.json._tag, "AccessUnavailable")
    assert.notInclude(down.json.detail, url)
    state.isDown = false
    const another = yield* start({ settings: setting(url) })
    assert.strictEqual((yield* get(another.port, yield* Effect.promise(() => first.sign()))).status, 404)
    state.saysOther = true
    const third = yield* start({ settings: setting(url) })
    assert.strictEqual((yield* get(third.port, yield* Effect.promise(() => first.sign()))).status, 503)
    state.saysOther = false
    keys.splice(0)
    const second = yield* Effect.promise(() => signer("b"))
    const fourth = yield* start({ settings: setting(url) })
    assert.strictEqual((yield* get(fourth.port, yield* Effect.promise(() => first.sign()))).status, 401)
    assert.strictEqual((yield* get(fourth.port, yield* Effect.promise(() => second.sign()))).status, 404)
    // A key that is not known is looked for again, but not at once.
    keys.splice(0)
    const newest = yield* Effect.promise(() => signer("c"))
    const rotated = yield* Effect.promise(() => newest.sign())
    const replaced = yield* Effect.promise(() => second.sign())
    assert.strictEqual((yield* get(fourth.port, rotated)).status, 401)
    yield* Effect.acquireUseRelease(
      Effect.sync(() => {
        const { now } = Date
        Date.now = () => now() + 31_000
        return now
      }),
      () =>
        Effect.gen(function* () {
          assert.strictEqual((yield* get(fourth.port, rotated)).status, 404)
          assert.strictEqual((yield* get(fourth.port, replaced)).status, 401)
        }),
      (now) => Effect.sync(() => (Date.now = now))
    )
  })
)

it.scopedLive("logs what keeps it from asking the issuer, and tells callers without the address", () =>
  Effect.gen(function* () {
    const { server, signer, url } = yield* issuer
    const token = yield* Effect.promise(() => signer("a").then(({ sign }) => sign()))
    server.close()
    const log: Array<Line> = []
    const { port } = yield* start({ settings: setting(url), log })
    const { json, status } = yield* get(port, token)
    assert.strictEqual(status, 503)
    assert.match(json.detail, /^The issuer of tokens cannot be asked: .*ECONNREFUSED/)
    assert.notInclude(json.detail, url)
    assert.include(
      log.map(({ message }) => message).join("\n"),
      `${url}/.well-known/openid-configuration: connect ECONNREFUSED`
    )
  })
)

it.scopedLive(
  "takes tokens as issuers make them: scopes as a list, a subject that is a number, two keys of one id",
  () =>
    Effect.gen(function* () {
      const { signer, url } = yield* issuer
      const { port } = yield* start({ settings: setting(url) })
      const [first, second, stranger] = yield* Effect.promise(() =>
        Promise.all([signer("a"), signer("a"), signer("a", false)])
      )
      for (const [what, claims] of Object.entries<jose.JWTPayload>({
        list: { scope: ["clew"] },
        scp: { scope: undefined, scp: ["other", "clew"] },
        both: { scope: "other", scp: "clew" },
        number: { sub: 7 as unknown as string },
        null: { sub: null as unknown as string }
      })) {
        for (const { sign } of [first, second]) {
          assert.strictEqual((yield* get(port, yield* Effect.promise(() => sign(claims)))).status, 404, what)
        }
      }
      const refused = yield* get(port, yield* Effect.promise(() => stranger.sign()))
      assert.strictEqual(refused.status, 401)
      assert.include(refused.json.detail, "signature")
    })
)

it.scopedLive("does not ask an issuer whose keys fail for each thing that looks like a token", () =>
  Effect.gen(function* () {
    const { asked, signer, state, url } = yield* issuer
    const token = yield* Effect.promise(() => signer("a").then(({ sign }) => sign()))
    const { port } = yield* start({ settings: setting(url) })
    state.hasNoKeys = true
    for (let n = 0; n < 5; n++) assert.strictEqual((yield* get(port, token)).status, 503)
    assert.lengthOf(
      asked.filter((path) => path === "/keys"),
      1
    )
  })
)

it.scopedLive("says who issues tokens at the address that it names, whatever its path", () =>
  Effect.gen(function* () {
    for (const path of ["/clew/mcp", "/mcp/", "/a%20b/mcp", "/a(b/mcp", "/a:b/[c]*", "//mcp"]) {
      const { port } = yield* start({
        settings: {
          server: { oauth_issuer: "https://login.example.org", oauth_audience: `https://s.example.org${path}` }
        },
        mcp: { mcpOnly: true }
      })
      const refused = yield* ask(port, "POST", "/mcp", { body: {} })
      assert.strictEqual(refused.status, 401, path)
      const named = /resource_metadata="([^"]*)"/.exec(challenged(refused))![1]!
      const found = yield* get(port, undefined, named.slice("https://s.example.org".length))
      assert.strictEqual(found.json.resource, `https://s.example.org${path}`)
      const missing = yield* get(port, undefined, "/.well-known/oauth-protected-resource/else")
      assert.strictEqual(missing.status, 404, path)
    }
  })
)
