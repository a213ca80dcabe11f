import * as Data from "effect/Data"
import { typedBy } from "../core/errors.ts"
import { Failed } from "./client.ts"

/** Documents were replaced faster than a search could read them. */
export class Moved extends Data.TaggedError("Moved") {}

const certificate = /CERT|SIGNATURE|ALTNAME|ERR_TLS|ERR_SSL|DEPTH_ZERO/

/** Why the index cannot be used now, and what to do; undefined: it is a bug. */
export const reasonOf = ({ kind, reason, status }: Failed): string | undefined => {
  const said = reason.slice(0, 300)
  if (status === 413) {
    return "it, or a proxy before it, refuses what is this long (413); let pass 100 MB, the cluster's default"
  }
  // The cluster names the type of what it refuses.
  const isPage = kind === "page" || (kind === "refused" && ![401, 403, 429].includes(status) && status < 500)
  if (isPage) return `another program answers in its place (${status}): ${said}; see store.urls`
  if (status === 0) {
    if (/wrong version number/.test(reason)) return "the node has no TLS: name it with http:// in store.urls"
    if (certificate.test(kind)) {
      // After a colon it names hosts.
      return `its TLS certificate is not trusted, or is for another host or time (${said.split(":")[0]}); for an authority of your own, name its file as store.ca`
    }
    return kind === "TimeoutError"
      ? "it did not answer in time; `clew doctor` may say why"
      : `no node can be reached (${kind}); see store.urls, whether it needs https://, and whether the cluster runs`
  }
  if (status === 401) return "it refuses the user or the password; see store.username and CLEW_STORE_PASSWORD"
  if (/^(?:cluster|index_create)_block_exception$/.test(kind)) {
    if (/flood-stage/.test(reason)) {
      return "a disk of the cluster is nearly full (flood-stage watermark), so that it refuses writes; free space or add a node"
    }
    const [, blocked, block] = /\b(index|cluster) ([a-z /-]{1,40}?)(?: blocked)? \(api\)/.exec(reason) ?? []
    if (block === undefined) {
      return reason.includes("FORBIDDEN")
        ? `an index is blocked (${said})`
        : `the cluster has no manager, or is starting (${said})`
    }
    const setting = `${blocked}.blocks.${block.replace(/\W+/g, "_")}`
    return setting === "cluster.blocks.create_index"
      ? "it makes no more indexes: free space on its disks, or add a node, then set cluster.blocks.create_index to null"
      : `${blocked === "index" ? "an index" : "the whole cluster"} is blocked (${said}); remove the block ${setting}`
  }
  if (/maximum shards open/.test(reason)) {
    return `its nodes have as many shards as they may (${said}); drop collections, lower store.shards or store.replicas, or raise cluster.max_shards_per_node`
  }
  if (status === 403) return `the user may not do this (${said}); docs/opensearch.md lists the rights that Clew needs`
  if (status === 429) return `it is overloaded (${kind}); try again, or add nodes`
  if (/Determinizing automaton/.test(reason)) {
    return "a filter's pattern on source is too complex for the cluster; use fewer * and ? in it, or a shorter one"
  }
  if (/Result window is too large/.test(reason)) {
    return `index.max_result_window is lower than Clew needs (${said}); set it to null on all its indexes`
  }
  if (/^invalid_(?:alias|index)_name_exception$/.test(kind)) {
    return `another program uses a name of Clew's (${said}); rename what it has, or set another store.index_prefix`
  }
  if (/have the same priority/.test(reason)) {
    return `another index template has the patterns and the priority of Clew's (${said}); give that one another priority`
  }
  if (kind === "index_closed_exception") return `the index ${said} is closed; open it: POST /${said}/_open`
  if (kind === "index_not_found_exception") return `an index is gone (${said}); restore a snapshot of it`
  if (/mapper_parsing|strict_dynamic|mapping/.test(kind) || /mapper|mapping|fielddata|not knn_vector/i.test(reason)) {
    return `an index has another mapping than Clew gave it (${said}); \`clew doctor\` names it, and \`clew export | clew import\` into another prefix makes it anew`
  }
  if (status >= 500) return `some of its nodes or shards do not answer, or fail (${said}); try again`
  return undefined
}

/** Errors of the cluster or of the way to it become `StoreUnavailable`; of `Moved`, too. */
export const typed = typedBy({
  database: "OpenSearch",
  isOwn: (error): error is Failed | Moved => error instanceof Failed || error instanceof Moved,
  messageOf: ({ message }) => message,
  reasonOf: (error) =>
    error instanceof Moved
      ? "documents were replaced while they were read; ask again, or run `clew doctor` if it stays so"
      : reasonOf(error)
})
