/** What is loaded when an entry starts, by package, and the chunks that are loaded on demand. */
export const analyze = (metafile, entry) => {
  const start = new Set([entry])
  for (const file of start) {
    for (const { external, kind, path } of metafile.outputs[file].imports) {
      if (!external && kind === "import-statement") start.add(path)
    }
  }
  const byPackage = new Map()
  let total = 0
  for (const file of start) {
    total += metafile.outputs[file].bytes
    for (const [input, { bytesInOutput }] of Object.entries(metafile.outputs[file].inputs)) {
      const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? "src"
      byPackage.set(name, (byPackage.get(name) ?? 0) + bytesInOutput)
    }
  }
  const row = ([name, bytes]) => `${String(bytes).padStart(9)}  ${name}`
  const lazy = Object.entries(metafile.outputs)
    .filter(([file]) => !start.has(file))
    .map(([file, { bytes, entryPoint }]) => [`${file} ${entryPoint ?? ""}`, bytes])
  const largest = (entries) => [...entries].sort((a, b) => b[1] - a[1]).map(row)
  return [`Loaded at start: ${total} bytes`, ...largest(byPackage), "Loaded on demand:", ...largest(lazy)].join("\n")
}
