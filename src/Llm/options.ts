/** What every model behind a server is told. */
export interface ModelOptions {
  readonly url: string
  readonly model: string
  readonly temperature: number
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number
  /** The model's window, in its tokens; unset: what its server says. */
  readonly contextTokens?: number | undefined
  /** Longest silence, in milliseconds. */
  readonly timeoutMs: number
  /** Said to the model beside what it is to do with the passages. */
  readonly systemPrompt?: string | undefined
  readonly seed?: number | undefined
  /** The answer ends before any of these. */
  readonly stop?: ReadonlyArray<string> | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}
