/** A rebuild in progress: passages up to `through` are done, and it ends with `until`. */
export interface Position {
  readonly collection_id: number
  readonly through: number
  readonly until: number
  /** The last segment that existed when it began. */
  readonly boundary: number
}
