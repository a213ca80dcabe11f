import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { JWTVerifyOptions } from "jose"
import { AccessUnavailable, InsufficientScope, Unauthorized } from "../api/errors.ts"
import type { ServerConfig } from "../Config.ts"

/** The issuer cannot be asked, or does not answer as one. */
class IssuerFault extends Data.TaggedError("IssuerFault")<{ readonly reason: string }> {}

/** Bounds of what is read from the issuer. */
const limits = { bytes: 262_144, ms: 5000 }

/** How long what the issuer says of itself counts, and its keys; and how long a failure does. */
const fresh = { metadata: Duration.hours(1), keys: 600_000, failure: Duration.seconds(10), newKeys: 30_000 }

/** Signatures alone: with a shared secret, whoever knows the public key could sign. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]

/** Fetches within the bounds, and goes nowhere else. */
const bounded = async (url: string, init: RequestInit): Promise<Response> => {
  const signal = AbortSignal.timeout(limits.ms)
  const response = await fetch(url, { ...init, redirect: "error", signal })
  const parts: Array<Uint8Array> = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.length
    if (size > limits.bytes) throw new Error(`${url} answers with more than ${limits.bytes} bytes`)
    parts.push(part)
  }
  return new Response(Buffer.concat(parts), { status: response.status })
}

/** Where an issuer says where its keys are: RFC 8414, and OpenID Connect Discovery. */
const addressesOf = (issuer: string): ReadonlyArray<string> => {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === "/" ? "" : pathname.replace(/\/$/, "")
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`
  ]
}

const readMetadata = async (issuer: string, address: string): Promise<URL> => {
  const response = await bounded(address, { headers: { accept: "application/json" } })
  if (!response.ok) throw new Error(`${address} answers ${response.status}`)
  const metadata = (await response.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown } | null
  if (metadata?.issuer !== issuer)
    throw new Error(`${address} names another issuer, ${JSON.stringify(metadata?.issuer)}`)
  if (typeof metadata.jwks_uri !== "string" || !/^https?:/.test(metadata.jwks_uri))
    throw new Error(`${address} names no jwks_uri`)
  return new URL(metadata.jwks_uri)
}

/** The same, but a failure counts for a while: whoever sends something like a token must not make this ask on and on. */
const resting = (ask: typeof bounded): typeof bounded => {
  let failed = { error: new Error(), until: 0 }
  return async (url, init) => {
    if (Date.now() < failed.until) throw failed.error
    try {
      const response = await ask(url, init)
      if (response.ok) return response
      throw new Error(`${url} answers ${response.status}`)
    } catch (error) {
      failed = { error: error as Error, until: Date.now() + Duration.toMillis(fresh.failure) }
      throw error
    }
  }
}

/** An issuer's failure by what caused it: what `fetch` says of itself tells nothing. */
const asFault = (address: string) => (error: unknown) => {
  const { cause, message } = error as { readonly cause?: { readonly message?: string }; readonly message?: string }
  const why = cause?.message ?? message ?? String(error)
  return new IssuerFault({ reason: why.includes(address) ? why : `${address}: ${why}` })
}

/** Loads jose only where tokens come. */
const verifier = (issuer: string) =>
  Effect.gen(function* () {
    const jose = yield* Effect.promise(() => import("jose"))
    const [first, second] = addressesOf(issuer).map((address) =>
      Effect.tryPromise({ try: () => readMetadata(issuer, address), catch: asFault(address) })
    )
    const found = Effect.catchAll(first!, (one) =>
      Effect.mapError(second!, (other) => new IssuerFault({ reason: `${one.reason}; ${other.reason}` }))
    )
    const keys = jose.createRemoteJWKSet(yield* found, {
      timeoutDuration: limits.ms,
      cacheMaxAge: fresh.keys,
      cooldownDuration: fresh.newKeys,
      [jose.customFetch]: resting(bounded)
    })
    const verify = async (token: string, options: JWTVerifyOptions) => {
      try {
        return await jose.jwtVerify(token, keys, options)
      } catch (error) {
        if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error
        // The token does not say which key signed it, or several have the name that it gives: any of them may have.
        for await (const key of error) {
          const verified = await jose.jwtVerify(token, key, options).catch((error: unknown) => {
            if (!(error instanceof jose.errors.JWSSignatureVerificationFailed)) throw error
          })
          if (verified !== undefined) return verified
        }
        throw new jose.errors.JWSSignatureVerificationFailed()
      }
    }
    return verify
  })

/** What jose says of a token; every other failure is one of the issuer. */
const ofToken = new Set([
  "ERR_JWT_EXPIRED",
  "ERR_JWT_CLAIM_VALIDATION_FAILED",
  "ERR_JWT_INVALID",
  "ERR_JWS_INVALID",
  "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
  "ERR_JWKS_NO_MATCHING_KEY",
  "ERR_JOSE_ALG_NOT_ALLOWED",
  "ERR_JOSE_NOT_SUPPORTED"
])

/** Issuers name them in either claim, as a list or with spaces between. */
const scopesOf = ({ scope, scp }: Readonly<Record<string, unknown>>): ReadonlyArray<unknown> =>
  [scope, scp].flatMap((claim) => (typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : []))

/** Text that may stand in a quoted parameter of a header. */
const quotable = (text: string): string => text.replace(/[^\x20-\x7e]|["\\]/g, "'")

export interface OAuth {
  /** The document of RFC 9728, and the paths where it is. */
  readonly metadata: object
  readonly paths: ReadonlySet<string>
  /** The parameters of WWW-Authenticate for a request without a token. */
  readonly challenge: string
  /** Fails unless the token is the issuer's, for this server, and valid now. Says whose it is, if the token does. */
  readonly check: (
    token: string
  ) => Effect.Effect<string | undefined, Unauthorized | InsufficientScope | AccessUnavailable>
}

/** Where a resource server says who issues its tokens; below it, the same by the path of the resource. */
export const wellKnown = "/.well-known/oauth-protected-resource"

/** Checks bearer tokens of the configured issuer; undefined if there is none. */
export const make = (server: typeof ServerConfig.Service): Effect.Effect<OAuth | undefined> =>
  Effect.gen(function* () {
    const { oauthAudience: audience, oauthIssuer: issuer, oauthScope: scope } = server
    if (issuer === undefined || audience === undefined) return undefined
    const { origin, pathname } = new URL(audience)
    const suffix = pathname === "/" ? "" : pathname
    const challenge = `resource_metadata="${origin}${wellKnown}${suffix}"${scope === undefined ? "" : `, scope="${scope}"`}`
    const verifiers = yield* Cache.makeWith({
      capacity: 1,
      // One caller that goes away would leave its interruption to all.
      lookup: (issuer: string) => Effect.uninterruptible(verifier(issuer)),
      timeToLive: (exit) => (Exit.isSuccess(exit) ? fresh.metadata : fresh.failure)
    })
    const invalid = (reason: string) =>
      new Unauthorized({
        reason: `The token is not accepted: ${reason}`,
        challenge: `${challenge}, error="invalid_token", error_description="${quotable(reason)}"`
      })
    const unavailable = ({ reason }: IssuerFault) =>
      new AccessUnavailable({ reason: `The issuer of tokens cannot be asked: ${reason}` })

    const check = (token: string) =>
      Effect.gen(function* () {
        // Something else than a token of this kind: the issuer need not be asked.
        if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return yield* invalid("it is neither the API key nor a JWT")
        const verify = yield* Effect.mapError(verifiers.get(issuer), unavailable)
        const now = yield* Clock.currentTimeMillis
        const options = {
          issuer,
          audience,
          algorithms,
          clockTolerance: 30,
          requiredClaims: ["exp"],
          currentDate: new Date(now)
        }
        const { payload } = yield* Effect.tryPromise({
          try: () => verify(token, options),
          catch: (error) =>
            ofToken.has(String((error as { readonly code?: unknown }).code))
              ? invalid((error as Error).message)
              : unavailable(asFault(issuer)(error))
        })
        if (scope !== undefined && !scopesOf(payload).includes(scope)) {
          return yield* new InsufficientScope({ scope, challenge: `${challenge}, error="insufficient_scope"` })
        }
        const { sub }: { readonly sub?: unknown } = payload
        return typeof sub === "string" ? quotable(sub).slice(0, 100) : undefined
      })
    return {
      metadata: {
        resource: audience,
        authorization_servers: [issuer],
        bearer_methods_supported: ["header"],
        ...(scope === undefined ? {} : { scopes_supported: [scope] })
      },
      paths: new Set([wellKnown, `${wellKnown}/mcp`, `${wellKnown}${suffix}`]),
      challenge,
      check
    }
  })
