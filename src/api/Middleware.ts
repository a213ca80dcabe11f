import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as failures from "./failures.ts"

const bearer = HttpApiSecurity.annotate(
  HttpApiSecurity.bearer,
  OpenApi.Description,
  "The value of SERVICE_API_KEY. Not needed where the server was started without one."
)

/** Lets in who shows the API key, or everybody where the server has none. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("clew/http/Authorization", {
  failure: failures.Unauthorized,
  security: { bearer }
}) {}

/** The same, but open to everybody with `public_stats`. */
export class StatsAuthorization extends HttpApiMiddleware.Tag<StatsAuthorization>()("clew/http/StatsAuthorization", {
  failure: failures.Unauthorized,
  security: { bearer }
}) {}

/** Refuses where the server is read-only. */
export class Writing extends HttpApiMiddleware.Tag<Writing>()("clew/http/Writing", { failure: failures.ReadOnly }) {}
