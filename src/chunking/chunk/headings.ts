/** Characters kept of a heading; a longer one is a mistake in the markup. */
const longest = 300

/** Characters read of a heading for them: the addresses of badges take hundreds. */
const mostRead = 6000

const entities = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
  ["#39", "'"]
])

const tags =
  /<\/?(?:a|abbr|b|big|br|center|code|del|div|em|font|h[1-6]|i|img|ins|kbd|mark|p|picture|q|s|samp|small|source|span|strike|strong|sub|sup|svg|tt|u|var)(?:\s[^<>]*)?\/?>/gi

const comments = /<!--.*?-->/g

/** Links and images, with the words of each. */
const links = /!?\[([^[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])/g

/** Two images or more, linked or not, and nothing else: they name nothing. */
const badges = /^\s*(?:(?:\[!\[[^[\]]*\](?:\([^()]*\)|\[[^[\]]*\])\]|!\[[^[\]]*\])(?:\([^()]*\)|\[[^[\]]*\])\s*){2,}$/

const marked = /[`*_[\]<&\\{}~#\u0000]|\s\s/

/** A role of reStructuredText, `:mod:` before its text, or a link, which has `_` behind it. */
const roles = /(?<![\w`])(?:(?::[a-z][\w.+-]{0,40}){1,3}:`([^`]+)`|`([^`]+)`__?(?!\w))/gi

/** A role's words: its title, or the last of its names if a tilde asks for that. */
const ofRole = (text: string): string =>
  text
    .replace(/^(.*\S)\s*<[^<>]*>$/, "$1")
    .replace(/^~.*\./, "")
    .replace(/^[~!]/, "")

/** A placeholder for a piece that must not be read as markup. */
const kept = /\u0000(\d+)\u0000/g

/** A heading's words without Markdown's inline markup, white space collapsed; code keeps its characters. */
export const plainHeading = (raw: string): string => {
  if (raw.length <= longest && !marked.test(raw)) return raw.trim()
  const read = raw.slice(0, mostRead)
  if (badges.test(read)) return ""
  const short =
    raw.length <= longest ? raw : read.replace(links, "$1").replace(links, "$1").replace(tags, "").slice(0, longest)
  const literals: Array<string> = []
  const keep = (literal: string) => `\u0000${literals.push(literal) - 1}\u0000`
  return short
    .replaceAll("\u0000", " ")
    .trim()
    .replace(/(^|\s)#+$/, "")
    .replace(/\s*\{\s*(?:[#.:][^{}]*|\/\*[^{}]*\*\/\s*)\}\s*$/, "")
    .replace(roles, (_, role?: string, link = "") => keep(ofRole(role ?? link)))
    .replace(/(`+)([^`]|[^`].*?[^`])\1(?!`)/g, (_, _ticks, code: string) => keep(code.trim()))
    .replace(/\\([!-/:-@[-`{-~])/g, (_, char: string) => keep(char))
    .replace(tags, "")
    .replace(comments, "")
    .replace(links, "$1")
    .replace(links, "$1")
    .replace(/(\*\*\*|\*\*|\*|~~)(?=\S)([^*~]*[^\s*~])\1/g, "$2")
    .replace(/(\*\*|\*)(?=\S)([^*]*[^\s*])\1/g, "$2")
    .replace(/(?<![\p{L}\p{N}_])(___|__|_)(?=[^\s_])([^_]*(?:_[^_]+)*?)\1(?![\p{L}\p{N}_])/gu, "$2")
    .replace(/&(\w+|#39);/g, (entity, name: string) => entities.get(name) ?? entity)
    .replace(kept, (_, i: string) => literals[Number(i)] ?? "")
    .replace(/\s+/g, " ")
    .trim()
}
