declare module "picomatch" {
  /** The part of picomatch that is used here; the package brings no types of its own. */
  export default function picomatch(glob: string, options?: { readonly dot?: boolean }): (text: string) => boolean
}
