/** What every model behind a server is told. */
export interface ModelOptions {
  readonly url: string
  readonly model: string
  readonly temperature: number
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number
  /** The model's window, in its tokens. */
  readonly contextTokens: number
  /** Longest silence, in milliseconds. */
  readonly timeoutMs: number
}
