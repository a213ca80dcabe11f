/**
 * What to say of an answer that redirects a request for `path`; undefined if it does not. Clew follows none: texts and
 * keys are for the host that the configuration names.
 */
export const redirectOf = (
  status: number,
  location: string | null | undefined,
  asked: string,
  path: string
): string | undefined => {
  if (status < 300 || status >= 400 || !location || !URL.canParse(location, asked)) return undefined
  // A query may have what only that server should see.
  const [target = ""] = new URL(location, asked).href.split(/[?#]/, 1)
  const advice = target.endsWith(path) ? `set the url to ${target.slice(0, -path.length)}` : "check the url"
  return `a redirect to ${target.slice(0, 300)}, which is not followed; ${advice}`
}

/** An address as it is told: its query may have a key or a signature. */
export const shown = (url: string): string => url.split("?", 1)[0]!
