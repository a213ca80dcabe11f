import { InvalidRequest } from "../api/errors.ts"
import type { FieldError } from "../api/Problem.ts"
import { isObject, kindOf } from "../model/kinds.ts"
import { limits } from "../model/Limits.ts"

const known = ["content", "metadata", "doc_id"]

/** Obvious faults of a document, one error per place. */
const faultsOf = function* (document: unknown): Generator<readonly [name: string, message: string]> {
  if (!isObject(document)) return yield ["", `a document must be a JSON object, not ${kindOf(document)}`]
  for (const key of Object.keys(document)) {
    if (!known.includes(key)) yield [`.${key.slice(0, 60)}`, `is unexpected, a document has ${known.join(", ")}`]
  }
  const { content, doc_id: id, metadata } = document
  if (content === undefined) yield [".content", "is missing"]
  else if (typeof content !== "string") yield [".content", `content must be a string, not ${kindOf(content)}`]
  if (metadata !== undefined && !isObject(metadata)) {
    yield [".metadata", `metadata must be a JSON object, not ${kindOf(metadata)}`]
  }
  if (id !== undefined && typeof id !== "string") yield [".doc_id", `doc_id must be a string, not ${kindOf(id)}`]
}

/** Reports too many documents, or obvious faults, before the expensive decoding. */
export const batchFault = (body: unknown, maxBatch: number): InvalidRequest | undefined => {
  const documents = isObject(body) ? body["documents"] : undefined
  if (!Array.isArray(documents)) return undefined
  if (documents.length > maxBatch) {
    const message = `a batch may have at most ${maxBatch} documents (limits.max_batch), got ${documents.length}`
    return new InvalidRequest({ errors: [{ path: "documents", message }] })
  }
  const errors: Array<FieldError> = []
  for (const [index, document] of documents.entries()) {
    for (const [name, message] of faultsOf(document)) {
      errors.push({ path: `documents.${index}${name}`, message })
      if (errors.length === limits.errors) return new InvalidRequest({ errors })
    }
  }
  return errors.length === 0 ? undefined : new InvalidRequest({ errors })
}
