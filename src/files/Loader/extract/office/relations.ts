import { all, type XmlElement } from "../xml.ts"

/** Where a part's relations lead within the archive, by their id; what leads outside is left out. */
export const relations = (
  part: XmlElement | undefined,
  folder: string
): ReadonlyMap<string, { readonly target: string; readonly type: string }> =>
  new Map(
    all(part, "Relationship")
      .filter(({ attributes }) => attributes["TargetMode"] !== "External")
      .map(({ attributes }) => [
        attributes["Id"] ?? "",
        { target: resolve(folder, attributes["Target"] ?? ""), type: attributes["Type"] ?? "" }
      ])
  )

/** A path within the archive, from a folder of it. */
export const resolve = (folder: string, target: string): string => {
  const parts = target.startsWith("/") ? [] : folder.split("/").filter((part) => part !== "")
  for (const part of target.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "." && part !== "") parts.push(part)
  }
  return parts.join("/")
}
