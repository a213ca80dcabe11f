const stored = "clew.editor"

/** Programs that open a file of this machine at a line by an address of their own. */
const addresses: Readonly<Record<string, (path: string, line: number) => string>> = {
  "VS Code": (path, line) => `vscode://file${path}:${line}`,
  Cursor: (path, line) => `cursor://file${path}:${line}`,
  Zed: (path, line) => `zed://file${path}:${line}`,
  IntelliJ: (path, line) => `idea://open?file=${path}&line=${line}`,
  "the browser": (path) => `file://${path}`
}

export const editors: ReadonlyArray<string> = Object.keys(addresses)

/** The one that somebody chose; "" for none. */
export const editor = {
  get: (): string => localStorage.getItem(stored) ?? "VS Code",
  set: (name: string): void => localStorage.setItem(stored, name)
}

/**
 * The address that opens a source there; undefined if it is no file's path of this machine, or no program was chosen.
 */
export const editorAddress = (source: string, line: number): string | undefined => {
  const address = addresses[editor.get()]
  const path = /^[A-Za-z]:[\\/]/.test(source) ? `/${source.replaceAll("\\", "/")}` : source
  // Windows would ask the host of //host/share, and tell it who asks.
  if (address === undefined || !/^\/(?![\\/])/.test(path)) return undefined
  return address(path.split("/").map(encodeURIComponent).join("/"), line)
}
