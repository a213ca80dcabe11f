/** Options of every remote model. */
export interface ModelOptions {
  readonly url: string
  readonly model: string
  readonly temperature: number
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number
  /** The model's window, in its tokens; unset: as its server reports. */
  readonly contextTokens?: number | undefined
  /** Longest silence, in milliseconds. */
  readonly timeoutMs: number
  /** Further instructions for the model. */
  readonly systemPrompt?: string | undefined
  readonly seed?: number | undefined
  /** The answer ends before any of these. */
  readonly stop?: ReadonlyArray<string> | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}
