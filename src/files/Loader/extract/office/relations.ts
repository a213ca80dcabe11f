import { all, type XmlElement } from "../xml.ts"

/** The targets of a part's relations within the archive, by id; targets outside it are left out. */
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

/** Resolves a path within the archive against a folder. */
export const resolve = (folder: string, target: string): string => {
  const parts = target.startsWith("/") ? [] : folder.split("/").filter((part) => part !== "")
  for (const part of target.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "." && part !== "") parts.push(part)
  }
  return parts.join("/")
}
