import * as HttpApi from "@effect/platform/HttpApi"
import { Api } from "../api/Api.ts"

/** An address as the metrics and the log know it, and the methods it answers. */
export interface Route {
  readonly template: string
  readonly methods: ReadonlyArray<string>
}

const collect = (): ReadonlyMap<string, Set<string>> => {
  const found = new Map<string, Set<string>>([
    ["/openapi.json", new Set(["GET"])],
    ["/docs", new Set(["GET"])]
  ])
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      found.set(endpoint.path, (found.get(endpoint.path) ?? new Set()).add(endpoint.method))
    }
  })
  return found
}

const withImplied = (methods: ReadonlySet<string>): ReadonlyArray<string> => [
  ...methods,
  ...(methods.has("GET") ? ["HEAD"] : []),
  "OPTIONS"
]

const routes = [...collect()].map(([template, methods]): Route & { readonly pattern: RegExp } => ({
  template,
  methods: withImplied(methods),
  pattern: new RegExp(`^${template.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+")}$`)
}))
const fixed = new Map(routes.filter(({ template }) => !template.includes(":")).map((route) => [route.template, route]))
const open = routes.filter(({ template }) => template.includes(":"))

const pathOf = (url: string): string => {
  const end = url.indexOf("?")
  return end === -1 ? url : url.slice(0, end)
}

/** The route of a URL's path, whatever the method. */
export const routeOf = (url: string): Route | undefined => {
  const path = pathOf(url)
  return fixed.get(path) ?? open.find(({ pattern }) => pattern.test(path))
}

/** The route's parameter, where what stands in its place is not percent-encoded UTF-8. */
export const malformedParameter = (url: string, { template }: Route): string | undefined => {
  const path = pathOf(url)
  if (!path.includes("%")) return undefined
  try {
    decodeURIComponent(path)
    return undefined
  } catch {
    return /:(\w+)/.exec(template)?.[1]
  }
}
