/** A constant that is made when it is first asked for, since making all of them takes a tenth of a start. */
export const lazily = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}
