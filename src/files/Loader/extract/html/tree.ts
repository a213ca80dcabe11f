import type { DefaultTreeAdapterTypes as Tree } from "parse5"

export type Node = Tree.ChildNode
export type Element = Tree.Element

export const isElement = (node: Tree.Node): node is Element => "tagName" in node
export const isText = (node: Tree.Node): node is Tree.TextNode => node.nodeName === "#text"

export const attribute = (element: Element, name: string): string | undefined =>
  element.attrs.find((attr) => attr.name === name)?.value

const breaksIn = (text: string): number => text.split("\n").length - 1

/** The line of an element's start tag, or of a text's first word, from 1. */
export const lineOf = (node: Node): number | undefined => {
  const location = node.sourceCodeLocation
  if (location == null) return undefined
  return isText(node) ? location.endLine - breaksIn(node.value.trimStart()) : location.startLine
}

/** The text of a node with its runs of white space replaced; `at` is the line of the file on which a run ends. */
export const withSpaces = (node: Tree.TextNode, replace: (run: string, at: number | undefined) => string): string => {
  const { value } = node
  const end = node.sourceCodeLocation?.endLine
  // Counted from the end: the parser drops a line break that follows <pre>.
  let left = end === undefined ? 0 : breaksIn(value)
  return value.replace(/\s+/g, (run) => {
    left -= end === undefined ? 0 : breaksIn(run)
    return replace(run, end === undefined || !run.includes("\n") ? undefined : end - left)
  })
}

/** Every element below, in document order, without recursion: foreign markup may be nested without limit. */
export function* descendants(root: Tree.ParentNode): Generator<Element> {
  const open: Array<Tree.Node> = [...root.childNodes].reverse()
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!isElement(node)) continue
    yield node
    for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
  }
}

/** The first element below with one of these names. */
export const find = (root: Tree.ParentNode, ...names: ReadonlyArray<string>): Element | undefined => {
  for (const element of descendants(root)) if (names.includes(element.tagName)) return element
  return undefined
}

/** All text below, unchanged. */
export const textOf = (root: Tree.Node): string => {
  let text = ""
  const open: Array<Tree.Node> = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isText(node)) text += node.value
    else if (isElement(node) && (node.tagName === "br" || node.tagName === "p")) text += "\n"
    if ("childNodes" in node) for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
  }
  return text
}
