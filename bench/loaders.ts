import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { extname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { Kind } from "../src/extraction/extract.ts"

/** Our reader of a format, and the usual peer: pdftotext, or pandoc's name of the format. */
const formats: Readonly<Record<string, { readonly kind: Kind; readonly peer?: string }>> = {
  pdf: { kind: "pdf", peer: "pdftotext" },
  html: { kind: "html", peer: "html" },
  docx: { kind: "docx", peer: "docx" },
  odt: { kind: "openDocument", peer: "odt" },
  pptx: { kind: "pptx" },
  odp: { kind: "openDocument" },
  xlsx: { kind: "xlsx" },
  ods: { kind: "openDocument" },
  csv: { kind: "csv", peer: "csv" },
  epub: { kind: "epub", peer: "epub" },
  fb2: { kind: "fictionBook", peer: "fb2" },
  ipynb: { kind: "notebook", peer: "ipynb" },
  tex: { kind: "latex", peer: "latex" },
  man: { kind: "man", peer: "man" },
  srt: { kind: "subtitles" },
  eml: { kind: "mail" }
}

interface Cost {
  /** CPU time in ms, which a busy machine changes little. */
  readonly cpu: number
  readonly megabytes: number
}

/** A program's CPU time and peak memory, from GNU time. */
const cost = (command: string, args: ReadonlyArray<string>, scratch: string): Cost | undefined => {
  const told = join(scratch, "time")
  const { status } = spawnSync("/usr/bin/time", ["-f", "%U %S %M", "-o", told, command, ...args], { stdio: "ignore" })
  const [user, system, most] = (readFileSync(told, "utf8").trim().split("\n").at(-1) ?? "").split(" ").map(Number)
  return status === 0 ? { cpu: (user! + system!) * 1000, megabytes: most! / 1024 } : undefined
}

/** Reads the files of one kind in this process, as the worker does; started anew for each format. */
const readAll = async (kind: Kind, files: ReadonlyArray<string>): Promise<void> => {
  const { extract } = await import("../src/extraction/extract.ts")
  const isText = !["pdf", "docx", "openDocument", "pptx", "xlsx", "epub", "mail"].includes(kind)
  for (const file of files) {
    const bytes = readFileSync(file)
    // oxlint-disable-next-line no-await-in-loop -- one file after the other, as the worker reads them
    await extract(kind, isText ? bytes.toString("utf8") : new Uint8Array(bytes)).catch(() => undefined)
  }
}

const self = fileURLToPath(import.meta.url)

/**
 * The cost of extracting text by format, compared with one peer: `npm run bench -- loaders FOLDER`. Reads all files of a
 * format in the folder, repeatedly up to 2 MB, and subtracts the time of a program that reads only the first one; the
 * peer's start for each file is not subtracted. Needs GNU time, and pdftotext (poppler-utils) and pandoc to compare with.
 */
const run = async (args: ReadonlyArray<string>): Promise<void> => {
  if (args[0] === "--read") return readAll(args[1] as Kind, JSON.parse(readFileSync(args[2]!, "utf8")))
  const folder = resolve(args[0] ?? ".")
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
  const scratch = mkdtempSync(join(tmpdir(), "clew-loaders-"))
  const list = join(scratch, "files.json")
  const ours = (kind: Kind, files: ReadonlyArray<string>) => {
    writeFileSync(list, JSON.stringify(files))
    return cost(process.execPath, ["--import", "tsx", self, "--read", kind, list], scratch)
  }
  try {
    for (const [ending, { kind, peer }] of Object.entries(formats)) {
      const files = all
        .filter((file) => extname(file).toLowerCase() === `.${ending}` && statSync(file).isFile())
        .slice(0, 40)
      if (files.length === 0) continue
      const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
      const times = Math.min(200, Math.ceil(2e6 / bytes))
      // First the library and one file, then all files: the difference is the cost of the others.
      const one = ours(kind, files.slice(0, 1))
      const more = ours(kind, Array.from({ length: times }, () => files).flat())
      if (one === undefined || more === undefined) continue
      const theirs =
        peer === undefined
          ? []
          : files.map((file) =>
              peer === "pdftotext"
                ? cost("pdftotext", [file, join(scratch, "out")], scratch)
                : cost("pandoc", ["-f", peer, "-t", "markdown", "-o", join(scratch, "out"), file], scratch)
            )
      const told = theirs.filter((each) => each !== undefined)
      const read = bytes * times - statSync(files[0]!).size
      const rate = (amount: number, cpu: number) => (cpu <= 0 ? "-" : (amount / 1e6 / (cpu / 1000)).toFixed(2))
      const peers =
        told.length === 0
          ? "-"
          : `${rate(
              bytes,
              told.reduce((sum, { cpu }) => sum + cpu, 0)
            )} MB/s, ${Math.round(Math.max(...told.map(({ megabytes }) => megabytes)))} MB`
      console.log(
        `${ending}: ${files.length} files, ${(bytes / 1e6).toFixed(2)} MB; ${rate(read, more.cpu - one.cpu)} MB/s, ` +
          `${Math.round(more.megabytes)} MB, first file ${Math.round(one.cpu)} ms; ${peer === undefined ? "no peer" : peer === "pdftotext" ? peer : "pandoc"}: ${peers}`
      )
    }
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

await run(process.argv.slice(2))
