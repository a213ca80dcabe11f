import { grouped, lowered } from "../raised.ts"
import { type Element, isElement, isText, textOf } from "./tree.ts"

/** Deeper formulas become their text. */
const deepest = 40

const isSimple = (text: string): boolean => /^[\p{L}\p{N}.]*$/u.test(text) || /^\([^()]*\)$/.test(text)

const closed = (text: string): string => (isSimple(text) ? text : `(${text})`)

/** A formula in a line: `x^2`, `a_i`, `(a+b)/c`, `√(x)`. */
export const mathOf = (math: Element, depth = 0): string => {
  if (depth > deepest) return textOf(math).replace(/\s+/g, " ").trim()
  const parts = math.childNodes.flatMap((node) => {
    if (isText(node)) {
      // Operators that are only heard: function application, invisible times and comma.
      const text = node.value.replace(/[\s\u2061-\u2064]+/g, " ").trim()
      return text === "" ? [] : [text]
    }
    return isElement(node) && !node.tagName.startsWith("annotation") ? [mathOf(node, depth + 1)] : []
  })
  const [base = "", second = "", third = ""] = parts
  const low = (text: string) => (text === "" ? "" : lowered(text))
  const high = (text: string) => (text === "" ? "" : `^${grouped(text)}`)
  switch (math.tagName) {
    case "msup":
    case "mover":
      return closed(base) + high(second)
    case "msub":
    case "munder":
      return base + low(second)
    case "msubsup":
    case "munderover":
      return base + low(second) + high(third)
    case "mfrac":
      return `${closed(base)}/${closed(second)}`
    case "msqrt":
      return `√(${parts.join("")})`
    case "mroot":
      return `${closed(base)}^(1/${second})`
    case "mtr":
      return `${parts.join(", ")}; `
    case "mspace":
      return " "
    default:
      return parts.join("")
  }
}
