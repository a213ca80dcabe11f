import type { DefaultTreeAdapterTypes as Tree } from "parse5"
import { attribute, descendants, type Element, find, isElement, textOf } from "./tree.ts"

/** What a reader of the page does not read. */
const silent = new Set(
  "script style noscript template svg math canvas object embed iframe audio video map head title link meta base select button input textarea dialog".split(
    " "
  )
)
const aroundTags = new Set(["nav", "footer", "aside", "menu"])
const aroundRoles = new Set(["navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog"])

/** Words of a class or id that name what stands around the content. */
const aroundWords =
  /(?:^|[\s_-])(?:nav(?:bar|igation)?|navheader|navfooter|menu|sidebar|side-bar|sphinxsidebar|related|breadcrumbs?|cookies?|consent|banner|gdpr|footer|pagination|pager|share|sharing|social|advert(?:isement)?s?|ads?|newsletter|subscribe|comments?|skip-?link|toc|table-of-contents|headerlink|edit-?(?:page|link)|feedback)(?:$|[\s_-])/i

/** Such a name on what holds most of the page is a name of something else. */
const mostOfAPage = 0.5

const name = (element: Element): string => `${attribute(element, "class") ?? ""} ${attribute(element, "id") ?? ""}`

const isHidden = (element: Element): boolean =>
  attribute(element, "hidden") !== undefined ||
  attribute(element, "aria-hidden") === "true" ||
  /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attribute(element, "style") ?? "")

/** Whether the element belongs to the page and not to its content. */
export const isAround = (element: Element, length: number): boolean => {
  if (silent.has(element.tagName) || isHidden(element)) return true
  if (element.tagName === "body" || element.tagName === "html" || element.tagName === "main") return false
  if (aroundTags.has(element.tagName) || aroundRoles.has(attribute(element, "role") ?? "")) return true
  if (element.tagName === "header" && find(element, "h1", "h2") === undefined) return true
  return aroundWords.test(name(element)) && textOf(element).length < length * mostOfAPage
}

const contentWords =
  /(?:^|\s)(?:main|content|main-content|maincontent|article|article-body|post-content|entry-content|markdown-body|documentwrapper|document|docs-content)(?:$|\s)/i

const wordCount = (root: Tree.Node): number => textOf(root).split(/\s+/).length - 1

/** A main part is one that holds this share of the page's words; a smaller one is a teaser. */
const least = 0.25

/** The element that holds the page's content: what the page itself calls so, else its body. */
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
