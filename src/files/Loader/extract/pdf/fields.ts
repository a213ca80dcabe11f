import type { Item } from "./line.ts"

/** The parts of a pdf.js annotation that describe a form field. */
interface Annotation {
  readonly subtype?: string
  readonly fieldType?: string
  readonly fieldValue?: unknown
  readonly rect?: ReadonlyArray<number>
  readonly checkBox?: boolean
  readonly radioButton?: boolean
  readonly buttonValue?: unknown
  readonly exportValue?: unknown
  readonly hidden?: boolean
  readonly password?: boolean
}

const said = ({
  buttonValue,
  checkBox,
  exportValue,
  fieldType,
  fieldValue,
  password,
  radioButton
}: Annotation): string => {
  if (fieldType === "Btn") {
    const isSet = checkBox === true ? fieldValue === exportValue : radioButton === true && fieldValue === buttonValue
    return isSet && typeof fieldValue === "string" && fieldValue !== "Off" ? "\u2611" : ""
  }
  if (password === true) return ""
  const values = Array.isArray(fieldValue) ? fieldValue : [fieldValue]
  return values.filter((value) => typeof value === "string" && value.trim() !== "").join(", ")
}

/** The values of a form's fields, as runs at the fields' places: they are not part of the page's own text. */
export const fieldItems = (
  annotations: ReadonlyArray<Annotation>,
  place: (x: number, y: number) => readonly [x: number, y: number]
): ReadonlyArray<Item> =>
  annotations.flatMap((annotation): ReadonlyArray<Item> => {
    const { hidden, rect, subtype } = annotation
    if (subtype !== "Widget" || hidden === true || rect?.length !== 4) return []
    const [left = 0, low = 0, right = 0, high = 0] = rect
    const height = Math.abs(high - low)
    // A field higher than one line has several, and the first is at its top.
    const size = Math.min(height * 0.75, 12)
    const [x, y] = place(Math.min(left, right), Math.max(low, high) - Math.min(height, 16) * 0.75)
    return said(annotation)
      .replace(/[^\S\r\n]|[\u0000-\u0009\u000b\u000c\u000e-\u001f\ufeff]/g, " ")
      .split(/\r\n?|\n/)
      .filter((line) => line.trim() !== "")
      .map((text, i) => ({
        text,
        x,
        y: y + i * size * 1.2,
        width: Math.min(Math.abs(right - left), text.length * size * 0.5),
        size,
        bold: false,
        mono: false
      }))
  })
