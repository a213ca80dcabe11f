/** A route's template, for metrics and log, and its methods. */
export interface Route {
  readonly template: string
  readonly methods: ReadonlyArray<string>
}

const withImplied = (methods: ReadonlySet<string>): ReadonlyArray<string> => [
  ...methods,
  ...(methods.has("GET") ? ["HEAD"] : []),
  "OPTIONS"
]

const pathOf = (url: string): string => {
  const end = url.indexOf("?")
  return end === -1 ? url : url.slice(0, end)
}

/** Finds a router's route for a URL's path, for any method. */
export const makeRouteOf = (mounted: Iterable<{ readonly path: string; readonly method: string }>) => {
  const methods = new Map<string, Set<string>>()
  for (const { method, path } of mounted) methods.set(path, (methods.get(path) ?? new Set()).add(method))
  const routes = [...methods].map(([template, methods]): Route & { readonly pattern: RegExp } => ({
    template,
    methods: withImplied(methods),
    pattern: new RegExp(`^${template.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+").replace(/\*$/, ".*")}$`)
  }))
  const isOpen = ({ template }: Route) => /[:*]/.test(template)
  const fixed = new Map(routes.filter((route) => !isOpen(route)).map((route) => [route.template, route]))
  const open = routes.filter(isOpen)
  return (url: string): Route | undefined => {
    const path = pathOf(url)
    return fixed.get(path) ?? open.find(({ pattern }) => pattern.test(path))
  }
}

/** The route's parameter whose value is not percent-encoded UTF-8, if any. */
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
