const comma = 44
const zero = 48

/** Calls `use` with each whole number in a text of digits and commas. */
export const forEachNumber = (text: Uint8Array, use: (value: number) => void): void => {
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]!
    if (byte === comma) {
      use(value)
      value = 0
    } else value = value * 10 + byte - zero
  }
  if (text.length > 0) use(value)
}
