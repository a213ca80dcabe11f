/** The part of cli-progress that is used; the package brings no types. */
declare module "cli-progress" {
  interface Payload {
    readonly [key: string]: string
  }
  class SingleBar {
    constructor(options: {
      readonly format: string
      readonly stream: NodeJS.WriteStream
      readonly hideCursor: boolean
      readonly clearOnComplete: boolean
      readonly barsize: number
      readonly fps: number
      readonly barCompleteChar: string
      readonly barIncompleteChar: string
    })
    start(total: number, value: number, payload: Payload): void
    setTotal(total: number): void
    update(value: number, payload: Payload): void
    stop(): void
  }
  const Progress: { readonly SingleBar: typeof SingleBar }
  export default Progress
}
