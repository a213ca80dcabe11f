/** A rebuild under way: passages up to `through` are done, those up to `until` are its business. */
export interface Position {
  readonly collection_id: number
  readonly through: number
  readonly until: number
  /** The last segment there was when it began. */
  readonly boundary: number
}
