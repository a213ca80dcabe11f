/** The program's size by package, largest first. */
export const analyze = (metafile) => {
  const [program] = Object.values(metafile.outputs)
  const byPackage = new Map()
  for (const [input, { bytesInOutput }] of Object.entries(program.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? "src"
    byPackage.set(name, (byPackage.get(name) ?? 0) + bytesInOutput)
  }
  const rows = [...byPackage]
    .sort((a, b) => b[1] - a[1])
    .map(([name, bytes]) => `${String(bytes).padStart(9)}  ${name}`)
  return [`${program.bytes} bytes`, ...rows].join("\n")
}
