import { parse } from "acorn"

const isFunction = ({ type }) => type === "ArrowFunctionExpression" || type === "FunctionExpression"

/**
 * The same script, in which no function is assigned to a property as it is written: V8 takes such a function for a method
 * of a class, and allocates it in its old generation. A closure there keeps what it can reach, such as a request and all
 * that was made for it, until the next collection of the whole heap.
 */
export const young = (code) => {
  const marks = []
  const visit = (node) => {
    if (node.type === "AssignmentExpression" && node.left.type === "MemberExpression" && isFunction(node.right)) {
      marks.push([node.right.start, "(0,"], [node.right.end, ")"])
    }
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (typeof child?.type === "string") visit(child)
    }
  }
  visit(parse(code, { ecmaVersion: "latest" }))
  let at = 0
  const parts = marks
    .sort(([a], [b]) => a - b)
    .map(([to, mark]) => {
      const part = code.slice(at, to) + mark
      at = to
      return part
    })
  return parts.join("") + code.slice(at)
}
