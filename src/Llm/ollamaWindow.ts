import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { OllamaServer } from "../vendors/Ollama.ts"
import { type Windows, windowsOf } from "../vendors/OllamaModels.ts"
import type { ModelOptions } from "./options.ts"
import { usualWindow } from "./window.ts"

/** A model's window, and what Ollama is to be asked for so that it has it: nothing where it has it anyway. */
export interface Wanted {
  readonly contextTokens: number
  readonly numCtx?: number | undefined
}

/** Asking for another window than the one a model is loaded with has Ollama load it anew, which takes seconds. */
const wantedOf = (configured: number | undefined, { loaded, longest = Infinity, own }: Windows): Wanted => {
  if (configured !== undefined) {
    const contextTokens = Math.min(configured, longest)
    return contextTokens === own ? { contextTokens } : { contextTokens, numCtx: contextTokens }
  }
  if (own !== undefined) return { contextTokens: Math.min(own, longest) }
  if (loaded !== undefined && loaded > usualWindow) return { contextTokens: loaded, numCtx: loaded }
  return { contextTokens: Math.min(usualWindow, longest) }
}

/** What a model's window was said to be is believed for so long, in milliseconds. */
const believed = 60_000

export interface OllamaWindows {
  /** What holds now; asks Ollama, for a second at most, where it did not say lately. */
  readonly of: (model: string) => Effect.Effect<Wanted>
  /** The same, of what is known already. */
  readonly known: (model: string) => Wanted
  /** The server gave this model less than it is taken to give: from now on it is asked. */
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
        // What it did not say just now it may have said before. A caller may name any model: few are remembered.
        if (told.size > 32) told.clear()
        told.set(model, { windows: { ...before?.windows, ...windows }, at: now })
      }
      return known(model)
    })
  }
}
