const decimal = /^\d{1,9}(?:\.\d{1,9})?$/

/** `Retry-After` in milliseconds, from seconds or a date, or from a header in milliseconds. */
export const waitOf = (header: (name: string) => string | null | undefined, now: number): number | undefined => {
  const exact = header("retry-after-ms")?.trim() ?? ""
  if (decimal.test(exact)) return Math.ceil(Number(exact))
  const usual = header("retry-after")?.trim() ?? ""
  if (decimal.test(usual)) return Math.ceil(Number(usual) * 1000)
  const date = Date.parse(usual)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
