import { createContext } from "preact"
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { asFailure, call, type Failure } from "./api.ts"
import type { Right, Who } from "./wire.ts"

/** What every part of the page may look at. */
interface Shell {
  /** Rises when the server is back, or another key was entered: what failed is tried again. */
  readonly pulse: number
  readonly who: Who
  readonly announce: (text: string) => void
}

/** Before the server has said who one is, when no view is shown. */
export const unknownCaller: Who = { rights: [], authenticated: false, read_only: false }

export const ShellContext = createContext<Shell>({ pulse: 0, who: unknownCaller, announce: () => {} })
export const useShell = (): Shell => useContext(ShellContext)

/** Whether something may be done here; what may not is not shown. */
export const useMay = (right: Right): boolean => {
  const { who } = useShell()
  return who.rights.includes(right) && (right === "read" || !who.read_only)
}

/** The collection of a view that shows one, if its address names none; undefined: the default one. */
export const useHome = (): string | undefined => {
  const { collections } = useShell().who
  return collections === undefined || collections.includes("default") ? undefined : collections[0]
}

interface Loaded<A> {
  /** The last answer, also while the next one is awaited. */
  readonly value?: A
  /** Whether `value` answers what is asked now. */
  readonly isCurrent: boolean
  readonly isLoading: boolean
  readonly failure?: Failure | undefined
}

/**
 * Loads again whenever what is asked changes, after `delay` milliseconds without another change. The one before is
 * cancelled, and its answer never shown. What failed is tried again when the server is back.
 */
export const useLoad = <A>(
  /** Undefined: nothing is asked. */
  asked: string | undefined,
  load: (signal: AbortSignal) => Promise<A>,
  delay = 0
): Loaded<A> & { readonly reload: () => void } => {
  const { pulse } = useShell()
  const [state, set] = useState<Omit<Loaded<A>, "isCurrent"> & { readonly of?: string }>({
    isLoading: asked !== undefined
  })
  const [again, setAgain] = useState(0)
  const seen = useRef(pulse)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const isRetry = seen.current !== pulse
    seen.current = pulse
    if (asked === undefined) return set({ isLoading: false })
    if (isRetry && state.failure === undefined && state.of === asked) return undefined
    const controller = new AbortController()
    set((before) => ({ ...before, isLoading: true, failure: undefined }))
    const run = async () => {
      try {
        const value = await latest.current(controller.signal)
        if (!controller.signal.aborted) set({ value, isLoading: false, of: asked })
      } catch (error) {
        if (controller.signal.aborted) return
        set({ isLoading: false, failure: asFailure(error), of: asked })
      }
    }
    const timer = setTimeout(() => void run(), delay)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [asked, again, pulse])
  const failure = state.failure?.isAwaited === true ? undefined : state.failure
  return {
    ...state,
    failure,
    isCurrent: asked !== undefined && state.of === asked,
    reload: () => setAgain((n) => n + 1)
  }
}

export const useGet = <A>(path: string | undefined, delay?: number) =>
  useLoad<A>(path, (signal) => call<A>("GET", path!, { signal }), delay)

/** What an action failed with, and how to run one: gives whether it succeeded. */
export const useAttempt = () => {
  const [failure, fail] = useState<Failure>()
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    fail(undefined)
    try {
      await work()
      return true
    } catch (error) {
      fail(asFailure(error))
      return false
    }
  }
  return { failure, attempt }
}

/** The text of a field that begins as the address has it, and follows when the address changes by itself. */
export const useText = (addressed: string) => {
  const [text, set] = useState(addressed)
  useEffect(() => set((before) => (before.trim() === addressed ? before : addressed)), [addressed])
  return [text, set] as const
}

/** Whether something has been so for longer than people notice. */
export const useAfter = (is: boolean): boolean => {
  const [late, set] = useState(false)
  useEffect(() => {
    if (!is) return set(false)
    const timer = setTimeout(() => set(true), 250)
    return () => clearTimeout(timer)
  }, [is])
  return is && late
}

/** Does something again and again, `ms` apart, while that is so. */
export const useEvery = (ms: number, act: () => void, isOn = true): void => {
  const latest = useRef(act)
  latest.current = act
  useEffect(() => {
    if (!isOn) return undefined
    const timer = setInterval(() => latest.current(), ms)
    return () => clearInterval(timer)
  }, [isOn])
}

/** Whether a key pressed there is text that somebody writes. */
export const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Keys of the page; those with Ctrl, Alt or Meta stay the browser's. */
export const useKeys = (keys: Readonly<Record<string, (event: KeyboardEvent) => void>>): void => {
  const latest = useRef(keys)
  latest.current = keys
  // What is shown has its keys at once.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      const act = latest.current[event.key]
      if (act === undefined || (event.key !== "Escape" && isWriting(event.target))) return
      // A dialog that is open has the keys.
      if (document.querySelector("dialog[open]") !== null) return
      act(event)
    }
    window.addEventListener("keydown", listen)
    return () => window.removeEventListener("keydown", listen)
  }, [])
}
