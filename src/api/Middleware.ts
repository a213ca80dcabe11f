import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as failures from "./failures.ts"

const bearer = HttpApiSecurity.annotate(
  HttpApiSecurity.bearer,
  OpenApi.Description,
  "The value of SERVICE_API_KEY. Not needed if the server was started without one."
)

/** Admits requests with the API key, or all if the server has none. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("clew/http/Authorization", {
  failure: failures.Unauthorized,
  security: { bearer }
}) {}

/** The same, but open to everyone with `public_stats`. */
export class StatsAuthorization extends HttpApiMiddleware.Tag<StatsAuthorization>()("clew/http/StatsAuthorization", {
  failure: failures.Unauthorized,
  security: { bearer }
}) {}

/** Refuses requests if the server is read-only. */
export class Writing extends HttpApiMiddleware.Tag<Writing>()("clew/http/Writing", { failure: failures.ReadOnly }) {}
