interface Words {
  readonly text: string
  readonly x?: number
  readonly y: number
  readonly size?: number
  /** The direction of reading, in quarter turns to the left. */
  readonly turns?: 0 | 1 | 2 | 3
  /** How much wider the letters are than usual. */
  readonly stretch?: number
  readonly font?: "Times-Roman" | "Times-Bold" | "Courier"
}

const fonts = ["Times-Roman", "Times-Bold", "Courier"] as const

const directions = ["1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0 -1 1 0"] as const

const escaped = (text: string): string => text.replace(/[\\()]/g, (char) => `\\${char}`)

/** A PDF put together by hand: words at places (points from the lower left) of pages, in fonts that every reader has. */
export const pdfOf = (
  pages: ReadonlyArray<ReadonlyArray<Words>>,
  options: {
    /** A text that somebody wrote on each page. */
    readonly note?: string
    /** The same, hidden. */
    readonly hidden?: string
    readonly kids?: (ids: ReadonlyArray<number>) => ReadonlyArray<number>
    /** Names of the glyphs from code 1, and what the fonts say that they mean. */
    readonly glyphs?: { readonly names: string; readonly toUnicode: string }
    /** The predefined CMap of all fonts, and the collection of characters that it is for. */
    readonly cmap?: { readonly name: string; readonly collection: string }
  } = {}
): Uint8Array => {
  const objects: Array<string> = []
  const add = (body: string): number => objects.push(body)
  add("<< /Type /Catalog /Pages 2 0 R >>")
  add("")
  const { glyphs } = options
  const meaning =
    glyphs === undefined
      ? ""
      : `/Encoding << /Differences [1 ${glyphs.names}] >> /FirstChar 1 /LastChar 126 /Widths [${"500 ".repeat(126)}] /ToUnicode ${add(`<< /Length ${glyphs.toUnicode.length} >>\nstream\n${glyphs.toUnicode}\nendstream`)} 0 R`
  const { cmap } = options
  const fontIds = fonts.map((name) =>
    cmap === undefined
      ? add(`<< /Type /Font /Subtype /Type1 /BaseFont /${name} ${meaning} >>`)
      : add(
          `<< /Type /Font /Subtype /Type0 /BaseFont /${name} /Encoding /${cmap.name} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /${name} /CIDSystemInfo << /Registry (Adobe) /Ordering (${cmap.collection}) /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /${name} /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> /DW 1000 >>] >>`
        )
  )
  const resources = `<< /Font << ${fonts.map((_, i) => `/F${i} ${fontIds[i]} 0 R`).join(" ")} >> >>`
  const annotation = (text: string | undefined, flags: number) =>
    text === undefined
      ? ""
      : `<< /Type /Annot /Subtype /FreeText /F ${flags} /Rect [72 600 300 640] /DA (/Helv 10 Tf) /Contents (${escaped(text)}) >>`
  const annotations = `/Annots [${annotation(options.note, 0)} ${annotation(options.hidden, 2)}]`
  const ids = pages.map((words) => {
    const stream = words
      .map(
        ({ font = "Times-Roman", size = 10, stretch = 1, text, turns = 0, x = 72, y }) =>
          `BT /F${fonts.indexOf(font)} ${size} Tf ${stretch * 100} Tz ${directions[turns]} ${x} ${y} Tm (${escaped(text)}) Tj ET`
      )
      .join("\n")
    const content = add(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`)
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources ${resources} /Contents ${content} 0 R ${annotations} >>`
    )
  })
  const kids = (options.kids ?? ((given) => given))(ids)
  objects[1] = `<< /Type /Pages /Count ${ids.length} /Kids [${kids.map((id) => `${id} 0 R`).join(" ")}] >>`
  let text = "%PDF-1.4\n"
  const offsets = objects.map((body, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${body}\nendobj\n`
    return at
  })
  const xref = text.length
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`
  text += offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")
  text += `trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${xref}\n%%EOF\n`
  return Buffer.from(text, "latin1")
}
