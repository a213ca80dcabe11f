import type { DefaultTreeAdapterTypes as Tree } from "parse5"
import { attribute, descendants, type Element, find, isElement, textOf } from "./tree.ts"

/** Elements that are not part of the text. */
const silent = new Set(
  "script style noscript template svg canvas object embed iframe audio video map head title link meta base select button input textarea dialog".split(
    " "
  )
)
const aroundTags = new Set(["nav", "footer", "aside", "menu"])
const aroundRoles = new Set(["navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog"])

/** Words in a class or id that mark what surrounds the content. */
const aroundWords =
  /(?:^|[\s_-])(?:nav(?:bar|igation)?|navheader|navfooter|menu|sidebar|side-bar|sphinxsidebar|related|breadcrumbs?|cookies?|consent|banner|gdpr|footer|pagination|pager|share|sharing|social|advert(?:isement)?s?|ads?|newsletter|subscribe|comments?|skip-?link|toc|table-of-contents|headerlink|edit-?(?:page|link)|feedback)(?:$|[\s_-])/i

/** Asides that belong to the text beside them. */
const notes =
  /(?:^|[\s_-])(?:foot-?notes?|endnotes?|notes?|topic|admonition|callout|warning|tip|hint|important|example)(?:$|[\s_-])/i

/** Inline elements and headings: their class or id describes their look. */
const inline = new Set(
  "a abbr b bdi bdo cite code del dfn dt em h1 h2 h3 h4 h5 h6 i ins kbd mark q s samp small span strong sub sup tt u var".split(
    " "
  )
)

/** If an element with such a name holds this share of the page, the name means something else. */
const mostOfAPage = 0.5

const classOf = (element: Element): string => attribute(element, "class") ?? ""

const name = (element: Element): string => `${classOf(element)} ${attribute(element, "id") ?? ""}`

const slug = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase()

/** Ids of more words than this are made from a heading. */
const mostWords = 3

/** The names that describe an element's role; an id made from the heading below describes its topic. */
const rolesOf = (element: Element): string => {
  const id = attribute(element, "id") ?? ""
  const heading = find(element, "h1", "h2", "h3", "h4", "h5", "h6")
  const isOwn =
    id.split(/[_-]/).length <= mostWords && (heading === undefined || !slug(textOf(heading)).startsWith(slug(id)))
  return isOwn ? name(element) : classOf(element)
}

export const isHidden = (element: Element): boolean =>
  attribute(element, "hidden") !== undefined ||
  attribute(element, "aria-hidden") === "true" ||
  /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attribute(element, "style") ?? "")

/** Whether the element belongs to the page, not to its content. */
export const isAround = (element: Element, length: number): boolean => {
  if (silent.has(element.tagName) || isHidden(element)) return true
  if (element.tagName === "body" || element.tagName === "html" || element.tagName === "main") return false
  if (inline.has(element.tagName))
    return /(?:^|\s)(?:headerlink|skip-?link|edit-?(?:page|link))(?:$|\s)/i.test(classOf(element))
  const role = attribute(element, "role") ?? ""
  if (element.tagName === "aside" && (notes.test(classOf(element)) || /^(?:note|doc-.*)$/.test(role))) return false
  if (aroundTags.has(element.tagName) || aroundRoles.has(role)) return true
  if (element.tagName === "header" && find(element, "h1", "h2") === undefined) return true
  return (
    aroundWords.test(name(element)) &&
    aroundWords.test(rolesOf(element)) &&
    textOf(element).length < length * mostOfAPage
  )
}

const contentWords =
  /(?:^|\s)(?:main|content|main-content|maincontent|article|article-body|post-content|entry-content|markdown-body|documentwrapper|document|docs-content)(?:$|\s)/i

const wordCount = (root: Tree.Node): number => textOf(root).split(/\s+/).length - 1

/** The least share of a page's words in a main part; a smaller one is a teaser. */
const least = 0.25

/** The element with the page's content: what the page marks as main, else its body. */
export const mainOf = (document: Tree.Document): Tree.ParentNode => {
  const body = find(document, "body") ?? document
  const all = wordCount(body)
  const candidates: Array<Element> = []
  for (const element of descendants(body)) {
    const says =
      element.tagName === "main" ||
      attribute(element, "role") === "main" ||
      element.tagName === "article" ||
      contentWords.test(name(element))
    if (says && !candidates.some((outer) => isWithin(element, outer))) candidates.push(element)
  }
  const best = candidates
    .map((element) => ({ element, words: wordCount(element) }))
    .sort((a, b) => b.words - a.words)[0]
  if (best === undefined || best.words < all * least) return body
  // Several articles side by side are the content together.
  const beside = candidates.filter((element) => element.tagName === "article" && element !== best.element)
  return beside.length > 0 && best.element.tagName === "article" ? (best.element.parentNode ?? body) : best.element
}

const isWithin = (element: Element, outer: Element): boolean => {
  for (let node: Tree.ParentNode | null = element; node !== null; node = isElement(node) ? node.parentNode : null) {
    if (node === outer) return true
  }
  return false
}
