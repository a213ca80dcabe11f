import { useEffect, useRef } from "preact/hooks"
import { at, type Colours, draw, fitting, type Lens, type Network, type Picked, settle } from "./drawing.ts"
import { count } from "./matching.ts"

const steps = 260

const coloursOf = (element: Element): Colours => {
  const style = getComputedStyle(element)
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim()
  return {
    ink: of("ink"),
    soft: of("soft"),
    thread: of("thread"),
    paper: of("paper"),
    font: style.fontFamily
  }
}

/** Where a pointer is on the page. */
type Point = Pick<PointerEvent, "clientX" | "clientY">

interface Props {
  readonly network: Network
  readonly picked: Picked
  readonly onPick: (picked: Picked) => void
}

/** A network that can be moved and zoomed by pointer, wheel and keys; the list beside it says the same in words. */
export const Canvas = ({ network, onPick, picked }: Props) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const lens = useRef<Lens>({ x: 0, y: 0, zoom: 1 })
  const shown = useRef({ network, picked })
  shown.current = { network, picked }
  const paint = useRef(() => {})
  /** Somebody has moved it: it stays where they left it. */
  const isMoved = useRef(false)

  useEffect(() => {
    const element = canvas.current!
    const context = element.getContext("2d")!
    paint.current = () => {
      const { clientHeight: height, clientWidth: width } = element
      const ratio = window.devicePixelRatio
      if (element.width !== width * ratio || element.height !== height * ratio) {
        element.width = width * ratio
        element.height = height * ratio
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      draw(context, shown.current.network, lens.current, shown.current.picked, coloursOf(element), { width, height })
    }
    const observer = new ResizeObserver(() => paint.current())
    observer.observe(element)
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    const repaint = () => paint.current()
    scheme.addEventListener("change", repaint)
    const onWheel = (event: WheelEvent) => {
      event.preventDefault()
      zoom(Math.exp(-event.deltaY / 400), event)
    }
    element.addEventListener("wheel", onWheel, { passive: false })
    return () => {
      observer.disconnect()
      scheme.removeEventListener("change", repaint)
      element.removeEventListener("wheel", onWheel)
    }
  }, [])

  useEffect(() => {
    const element = canvas.current!
    isMoved.current = false
    const fit = () => {
      if (!isMoved.current) lens.current = fitting(network, element.clientWidth, element.clientHeight)
      paint.current()
    }
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      for (let step = 0; step < steps; step++) settle(network, 1 - step / steps)
      return fit()
    }
    let step = 0
    let frame = 0
    const go = () => {
      for (let n = 0; n < 4 && step < steps; n++, step++) settle(network, 1 - step / steps)
      fit()
      if (step < steps) frame = requestAnimationFrame(go)
    }
    frame = requestAnimationFrame(go)
    return () => cancelAnimationFrame(frame)
  }, [network])
  useEffect(() => paint.current(), [picked])

  /** How far a point of the page is from the drawing's middle, in pixels. */
  const fromMiddle = ({ clientX, clientY }: Point) => {
    const { height, left, top, width } = canvas.current!.getBoundingClientRect()
    return [clientX - left - width / 2, clientY - top - height / 2] as const
  }
  /** What is drawn at a point stays there; without one, what is in the middle. */
  const zoom = (by: number, point?: Point) => {
    const { x, y, zoom: before } = lens.current
    const after = Math.max(0.1, Math.min(8, before * by))
    const [dx, dy] = point === undefined ? [0, 0] : fromMiddle(point)
    isMoved.current = true
    lens.current = { x: x + dx / before - dx / after, y: y + dy / before - dy / after, zoom: after }
    paint.current()
  }
  const pan = (dx: number, dy: number) => {
    const { x, y, zoom } = lens.current
    isMoved.current = true
    lens.current = { x: x - dx / zoom, y: y - dy / zoom, zoom }
    paint.current()
  }
  const keys: Readonly<Record<string, () => void>> = {
    "+": () => zoom(1.25),
    "-": () => zoom(0.8),
    ArrowLeft: () => pan(40, 0),
    ArrowRight: () => pan(-40, 0),
    ArrowUp: () => pan(0, 40),
    ArrowDown: () => pan(0, -40)
  }
  const moved = useRef(0)
  const pointers = useRef(new Map<number, Point>())
  const apart = () => {
    const [a, b] = [...pointers.current.values()]
    return a === undefined || b === undefined
      ? undefined
      : Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY))
  }
  return (
    <canvas
      ref={canvas}
      role="img"
      tabIndex={0}
      aria-label={`${count(network.nodes.size, "name")} and ${count(network.edges.length, "relation")}; the list beside says the same. Plus and minus zoom, arrows move`}
      onKeyDown={(event) => {
        const act = keys[event.key]
        if (act === undefined) return
        event.preventDefault()
        act()
      }}
      onPointerDown={(event) => {
        moved.current = 0
        pointers.current.set(event.pointerId, event)
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) => {
        const last = pointers.current.get(event.pointerId)
        if (last === undefined) return
        const before = apart()
        const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY]
        pointers.current.set(event.pointerId, event)
        moved.current += Math.abs(dx) + Math.abs(dy)
        // Two fingers zoom, one moves.
        if (before === undefined) pan(dx, dy)
        else zoom(apart()! / before, event)
      }}
      onPointerCancel={(event) => pointers.current.delete(event.pointerId)}
      onPointerUp={(event) => {
        pointers.current.delete(event.pointerId)
        if (moved.current > 4) return
        const [dx, dy] = fromMiddle(event)
        const { x, y, zoom } = lens.current
        onPick(at(network, dx / zoom + x, dy / zoom + y, zoom))
      }}
    />
  )
}
