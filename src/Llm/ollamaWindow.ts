import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { OllamaServer } from "../vendors/Ollama.ts"
import { type Windows, windowsOf } from "../vendors/OllamaModels.ts"
import type { ModelOptions } from "./options.ts"
import { usualWindow } from "./window.ts"

/** A model's window, and the `num_ctx` to send for it: undefined if Ollama uses it anyway. */
export interface Wanted {
  readonly contextTokens: number
  readonly numCtx?: number | undefined
}

/** Requesting another window than the loaded one makes Ollama reload the model, which takes seconds. */
const wantedOf = (configured: number | undefined, { loaded, longest = Infinity, own }: Windows): Wanted => {
  if (configured !== undefined) {
    const contextTokens = Math.min(configured, longest)
    return contextTokens === own ? { contextTokens } : { contextTokens, numCtx: contextTokens }
  }
  if (own !== undefined) return { contextTokens: Math.min(own, longest) }
  if (loaded !== undefined && loaded > usualWindow) return { contextTokens: loaded, numCtx: loaded }
  return { contextTokens: Math.min(usualWindow, longest) }
}

/** How long a reported window is cached, in milliseconds. */
const believed = 60_000

export interface OllamaWindows {
  /** The current window; asks Ollama, for at most a second, unless cached. */
  readonly of: (model: string) => Effect.Effect<Wanted>
  /** The same from the cache. */
  readonly known: (model: string) => Wanted
  /** The server gave this model a smaller window than assumed: send `num_ctx` from now on. */
  readonly insist: (model: string) => void
}

export const makeWindows = (options: ModelOptions & OllamaServer): OllamaWindows => {
  const told = new Map<string, { readonly windows: Windows; readonly at: number }>()
  const insisted = new Set<string>()
  const known = (model: string): Wanted => {
    const wanted = wantedOf(options.contextTokens, told.get(model)?.windows ?? {})
    return insisted.has(model) ? { ...wanted, numCtx: wanted.contextTokens } : wanted
  }
  return {
    known,
    insist: (model) => void insisted.add(model),
    of: Effect.fnUntraced(function* (model: string) {
      const now = yield* Clock.currentTimeMillis
      const before = told.get(model)
      if (before === undefined || now - before.at > believed) {
        const windows = yield* windowsOf(options, model)
        // Fall back to an older report. A caller may name any model, so only a few are remembered.
        if (told.size > 32) told.clear()
        told.set(model, { windows: { ...before?.windows, ...windows }, at: now })
      }
      return known(model)
    })
  }
}
