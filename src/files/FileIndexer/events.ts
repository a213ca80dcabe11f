import type { Deleted } from "../../model/Stored.ts"

export const none: Deleted = { documents: 0, passages: 0 }

export const add = (a: Deleted, b: Deleted): Deleted => ({
  documents: a.documents + b.documents,
  passages: a.passages + b.passages
})
