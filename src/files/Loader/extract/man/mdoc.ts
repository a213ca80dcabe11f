import { plain } from "./escapes.ts"

const around: Readonly<Record<string, readonly [string, string]>> = {
  Op: ["[", "]"],
  Bq: ["[", "]"],
  Pq: ["(", ")"],
  Aq: ["<", ">"],
  Brq: ["{", "}"],
  Dq: ["“", "”"],
  Qq: ['"', '"'],
  Sq: ["‘", "’"],
  Ql: ["‘", "’"]
}

const opening: Readonly<Record<string, string>> = { Oo: "[", Bo: "[", Po: "(", Ao: "<", Do: "“", Qo: '"', So: "‘" }
const closing: Readonly<Record<string, string>> = { Oc: "]", Bc: "]", Pc: ")", Ac: ">", Dc: "”", Qc: '"', Sc: "’" }

const systems: Readonly<Record<string, string>> = {
  Bx: "BSD",
  Fx: "FreeBSD",
  Nx: "NetBSD",
  Ox: "OpenBSD",
  Dx: "DragonFly",
  At: "AT&T UNIX",
  Ux: "UNIX"
}

/** Macros whose arguments are plain words. */
const said = new Set(
  "Ar Cm Pa Ev Dv Va Vt Fa Ft Em Sy Li Ic Er Lk Mt An Sx No Tn Ad Cd Ms Pf Ty Nd Lb In Rv St Ap Tg".split(" ")
)

/** Whether a word of a line is a macro of mdoc that forms part of a sentence. */
export const isInline = (name: string): boolean =>
  name === "Fl" ||
  name === "Nm" ||
  name === "Xr" ||
  name === "Ns" ||
  name === "Fn" ||
  name === "Fo" ||
  name === "Fc" ||
  said.has(name) ||
  name in around ||
  name in opening ||
  name in closing ||
  name in systems

const punctuation = /^[.,:;)\]?!]$/

/** A line of mdoc's macros as words; `name` is the value of `.Nm`. */
export const spoken = (words: ReadonlyArray<string>, name: string): string => {
  let text = ""
  let glue = true
  const pending: Array<string> = []
  const add = (word: string) => {
    text += glue || punctuation.test(word) ? word : ` ${word}`
    glue = /^[([]$/.test(word)
  }
  let flag = false
  let from = 0
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const next = words[at + 1]
    if (!isInline(word) || (at > 0 && word.length > 3)) {
      const shown = plain(word)
      add(flag && word !== "|" && !punctuation.test(word) ? `-${shown}` : shown)
      continue
    }
    if (flag && at - from === 1) add("-")
    flag = word === "Fl"
    from = at
    if (word in around) {
      add(around[word]![0])
      glue = true
      pending.push(around[word]![1])
    } else if (word in opening) {
      add(opening[word]!)
      glue = true
    } else if (word in closing) {
      glue = true
      add(closing[word]!)
    } else if (word === "Ns") glue = true
    else if (word === "Nm" && (next === undefined || isInline(next) || punctuation.test(next))) add(name)
    else if (word === "Xr" && next !== undefined) {
      const section = words[at + 2]
      const has = section !== undefined && /^\d\w{0,3}$/.test(section)
      add(plain(next) + (has ? `(${section})` : ""))
      at += has ? 2 : 1
    } else if ((word === "Fn" || word === "Fo") && next !== undefined) {
      add(
        `${plain(next)}(${words
          .slice(at + 2)
          .filter((each) => !punctuation.test(each))
          .map(plain)
          .join(", ")})`
      )
      break
    } else if (word in systems) add(systems[word]!)
  }
  if (flag && from === words.length - 1) add("-")
  return text + pending.reverse().join("")
}
