interface Cut {
  readonly start: number
  readonly end: number
}

/**
 * The parts of a content that its passages do not contain: before each of them, and after the last. Passages are in
 * order of start and may overlap.
 */
export const cut = (
  content: string,
  passages: ReadonlyArray<Cut>
): { readonly leads: ReadonlyArray<string>; readonly tail: string } => {
  let covered = 0
  const leads = passages.map(({ end, start }) => {
    const lead = content.slice(covered, Math.max(covered, start))
    covered = Math.max(covered, end)
    return lead
  })
  return { leads, tail: content.slice(covered) }
}

/** Puts together the content that `cut` took apart. */
export const join = (
  passages: ReadonlyArray<Cut & { readonly lead: string; readonly text: string }>,
  tail: string
): string => {
  let covered = 0
  const parts: Array<string> = []
  for (const { end, lead, start, text } of passages) {
    parts.push(lead)
    if (end > covered) parts.push(text.slice(Math.max(0, covered - start)))
    covered = Math.max(covered, end)
  }
  parts.push(tail)
  return parts.join("")
}
