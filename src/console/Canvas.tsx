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
    line: of("line"),
    thread: of("thread"),
    paper: of("paper"),
    font: style.fontFamily
  }
}

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
      zoom(Math.exp(-event.deltaY / 400))
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
    const fit = () => {
      lens.current = fitting(network, element.clientWidth, element.clientHeight)
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

  const zoom = (by: number) => {
    lens.current = { ...lens.current, zoom: Math.max(0.1, Math.min(8, lens.current.zoom * by)) }
    paint.current()
  }
  const pan = (dx: number, dy: number) => {
    const { x, y, zoom } = lens.current
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
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
        moved.current += Math.abs(event.movementX) + Math.abs(event.movementY)
        pan(event.movementX, event.movementY)
      }}
      onPointerUp={(event) => {
        if (moved.current > 4) return
        const box = event.currentTarget.getBoundingClientRect()
        const { x, y, zoom } = lens.current
        onPick(
          at(
            network,
            (event.clientX - box.left - box.width / 2) / zoom + x,
            (event.clientY - box.top - box.height / 2) / zoom + y,
            zoom
          )
        )
      }}
    />
  )
}
