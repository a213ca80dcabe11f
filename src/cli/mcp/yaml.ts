/** A module of its own, to be loaded late: the package is CommonJS, of which `import()` sees no names once bundled. */
export { parseDocument, stringify } from "yaml"
