/** The result of work in steps, without the pauses between them. */
export const withoutPause = <A>(steps: Generator<undefined, A>): A => {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
