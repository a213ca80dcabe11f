// Lets the conformance package run on Node 20: it imports `globSync` of node:fs, which came with Node 22, for a command
// that the tests do not use.
import { register } from "node:module"

const hook = async (url, context, next) => {
  const loaded = await next(url, context)
  if (!url.endsWith("/conformance/dist/index.js")) return loaded
  return { ...loaded, source: String(loaded.source).replace(/\bglobSync as \w+,/, "") }
}

register(`data:text/javascript,${encodeURIComponent(`export const load = ${hook}`)}`)
