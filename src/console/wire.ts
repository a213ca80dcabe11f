import type { CitationsEvent, SourceEvent } from "../api/Ask.ts"
import type { CollectionsResponse } from "../api/Collections.ts"
import type { DeleteResponse, DocumentResponse, ListResponse } from "../api/Documents.ts"
import type { JudgementsList } from "../api/Judgements.ts"
import type { GraphEntities, GraphEntity, GraphPath } from "../model/Graph.ts"
import type { Judgement } from "../model/Judgement.ts"
import type { SearchResponse, SearchResult } from "../model/SearchResult.ts"
import type { CollectionInfo, Stats } from "../model/Stats.ts"

/** What the server sends and takes, in its JSON form. */
export type Found = typeof SearchResponse.Encoded & { readonly facets?: Facets }
export type Hit = typeof SearchResult.Encoded
export type Explanation = NonNullable<Hit["explain"]>
export type Source = typeof SourceEvent.Encoded
export type Citations = typeof CitationsEvent.Encoded
export type Citation = Citations["citations"][number]
export type Document = typeof DocumentResponse.Encoded
export type Listed = typeof ListResponse.Encoded
export type ListedDocument = Listed["documents"][number]
export type Deleted = typeof DeleteResponse.Encoded
export type Collections = typeof CollectionsResponse.Encoded
export type Collection = typeof CollectionInfo.Encoded
export type Judged = typeof JudgementsList.Encoded
export type Grade = typeof Judgement.Encoded
export type Entities = typeof GraphEntities.Encoded
export type Entity = typeof GraphEntity.Encoded
export type Path = typeof GraphPath.Encoded
export type Statistics = typeof Stats.Encoded

export type Filter = Readonly<Record<string, unknown>>

export interface FacetValue {
  readonly value: string | number | boolean
  readonly count: number
  /** What to join with the filter for this value alone; a collection is named beside the filter. */
  readonly filter?: Filter
}
export type Facets = Readonly<Record<string, { readonly values: ReadonlyArray<FacetValue>; readonly others: number }>>

/** How to search, as POST /query and /compare take it. */
export interface Settings {
  readonly hybrid?: boolean
  readonly alpha?: number
  readonly fusion?: "rrf" | "score"
  readonly graph?: boolean | "auto"
  readonly min_relevance?: number
}

export interface Compared {
  readonly a: Found
  readonly b: Found
  /** Share of the longer list's passages that both have. */
  readonly overlap: number
}

export interface Suggestions {
  readonly suggestions: ReadonlyArray<{
    readonly text: string
    readonly kind: "title" | "heading" | "name"
    readonly source?: string
    readonly doc_id?: string
  }>
}

export interface Passages {
  readonly source?: string
  readonly title?: string
  readonly total: number
  readonly passages: ReadonlyArray<{
    readonly chunk_index: number
    readonly text: string
    readonly heading?: string | ReadonlyArray<string>
    readonly start: number
    readonly end: number
    readonly start_line: number
    readonly end_line: number
    readonly locator?: string
  }>
}

interface LegReport {
  readonly rank?: number
  readonly score?: number
}

export interface Why {
  readonly source: string
  readonly indexed: boolean
  readonly reason?: string
  readonly collection?: string
  readonly filtered_out?: boolean
  readonly hint?: string
  readonly hybrid?: LegReport
  readonly vector?: LegReport
  readonly keyword?: LegReport
  readonly degraded?: string
  readonly terms?: ReadonlyArray<{ readonly term: string; readonly score: number }>
  readonly relevance?: number
  readonly via?: string
  readonly folded_into?: string
  readonly ahead?: ReadonlyArray<{ readonly place: string; readonly score: number }>
}

export interface Problem {
  readonly _tag: string
  readonly status: number
  readonly detail: string
  readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

export interface Job {
  readonly id: string
  readonly kind: string
  readonly state: "queued" | "running" | "done" | "failed" | "cancelled"
  readonly created_at: number | string
  readonly started_at?: number | string
  readonly ended_at?: number | string
  readonly progress?: { readonly done: number; readonly total?: number; readonly unit: string }
  readonly by?: string
  readonly collection?: string
  readonly result?: unknown
  readonly error?: Problem
}

/** What became of uploaded files. */
export interface Uploaded {
  readonly indexed: number
  readonly unchanged: number
  readonly chunks: number
  readonly skipped?: ReadonlyArray<{ readonly source: string; readonly reason: string }>
  readonly failed?: ReadonlyArray<{ readonly source: string; readonly reason: string }>
}

export type Right = "read" | "write" | "admin"

export interface Who {
  readonly name?: string
  readonly rights: ReadonlyArray<Right>
  readonly collections?: ReadonlyArray<string>
  readonly authenticated: boolean
  readonly read_only: boolean
}

export interface Report {
  readonly stats: Statistics
  readonly watched?: ReadonlyArray<unknown>
  readonly jobs?: ReadonlyArray<Job>
  readonly stages?: ReadonlyArray<{
    readonly stage: string
    readonly p50_ms: number
    readonly p95_ms: number
    readonly count: number
  }>
  readonly slow?: ReadonlyArray<{
    readonly query: string
    readonly ms: number
    readonly mode: string
    readonly at: number | string
  }>
  readonly checks?: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly detail?: string
    readonly fix?: string
  }>
}
