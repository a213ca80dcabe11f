import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { RouteNotFound } from "../api/errors.ts"
import { ServerConfig } from "../Config.ts"
import { once } from "../runtime/once.ts"
import { inPackage } from "../runtime/packaged.ts"

/** The page loads its own files alone, runs none of a document, and talks only to this server. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml"
}

const typeOf = (name: string): string | undefined => types[name.slice(name.lastIndexOf(".") + 1)]

/** What the build has made of `src/console`; undefined if there was no build. */
const load = Effect.sync(() => {
  const folder = inPackage("dist/console")
  if (!existsSync(join(folder, "page.html"))) return undefined
  const html = readFileSync(join(folder, "page.html"), "utf8")
  const pageOf = (text: string) =>
    HttpServerResponse.text(text, {
      contentType: "text/html; charset=utf-8",
      headers: {
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-cache",
        vary: "Accept"
      }
    })
  const view = pageOf(html)
  // Its addresses are relative, so that they also lead here below a proxy's path.
  const entrance = pageOf(html.replaceAll('="assets/', '="console/assets/'))
  const assets = new Map(
    readdirSync(folder).flatMap((name) => {
      const contentType = typeOf(name)
      if (contentType === undefined) return []
      // Its digest is in its name.
      const headers = { "cache-control": "public, max-age=31536000, immutable", "referrer-policy": "no-referrer" }
      const asset = HttpServerResponse.uint8Array(readFileSync(join(folder, name)), { contentType, headers })
      return [[name, asset] as const]
    })
  )
  return { view, entrance, assets }
})

const nothingHere = new RouteNotFound({ served: undefined })

/** GET / in a browser, and each view's own address. The page needs no key; what it calls does. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { console } = yield* ServerConfig
    if (!console) return
    const loaded = once(load)
    const view = Effect.flatMap(loaded, (files) => files?.view ?? nothingHere)
    const entrance = Effect.flatMap(loaded, (files) => files?.entrance ?? nothingHere)
    const forBrowsers = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      /\btext\/html\b/i.test(headers["accept"] ?? "") ? entrance : nothingHere
    )
    const asset = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
      Effect.flatMap(
        loaded,
        (files) => files?.assets.get(/^\/console\/assets\/([\w.-]+)(?:\?|$)/.exec(url)?.[1] ?? "") ?? nothingHere
      )
    )
    yield* router.get("/", forBrowsers)
    yield* router.get("/console/assets/:file", asset)
    yield* router.get("/console/:view", view)
  })
)
