import type { AskRequest, CitationsEvent, SourceEvent } from "../api/Ask.ts"
import type { CollectionsResponse } from "../api/Collections.ts"
import type { DocumentResponse, ListResponse, PassagesResponse } from "../api/Documents.ts"
import type { FilesResponse } from "../api/Files.ts"
import type { HealthReport, WhoamiResponse } from "../api/Health.ts"
import type { CompareRequest, CompareResponse, SuggestResponse } from "../api/Insight.ts"
import type { Job as JobSchema } from "../api/Jobs.ts"
import type { JudgementsList } from "../api/Judgements.ts"
import type { ProblemBody } from "../api/Problem.ts"
import type { QueryResponse } from "../api/Search.ts"
import type { GraphEntities, GraphEntity, GraphPath } from "../model/Graph.ts"
import type { Judgement } from "../model/Judgement.ts"
import type { CollectionInfo, Stats } from "../model/Stats.ts"
import type { WhyReport } from "../model/Why.ts"

/** What the server sends and takes, in its JSON form. */
export type Found = typeof QueryResponse.Encoded
export type Hit = Found["results"][number]
export type Facets = NonNullable<Found["facets"]>
export type FacetValue = Facets[string]["values"][number]
export type Filter = NonNullable<FacetValue["filter"]>
/** How to search, as POST /query and /compare take it. */
export type Settings = (typeof CompareRequest.Encoded)["a"]
export type Compared = typeof CompareResponse.Encoded
export type Why = typeof WhyReport.Encoded
export type Suggestions = typeof SuggestResponse.Encoded
export type AskBody = typeof AskRequest.Encoded
export type Source = typeof SourceEvent.Encoded
export type Citations = typeof CitationsEvent.Encoded
export type Citation = Citations["citations"][number]
export type Document = typeof DocumentResponse.Encoded
export type Passages = typeof PassagesResponse.Encoded
export type Listed = typeof ListResponse.Encoded
export type ListedDocument = Listed["documents"][number]
export type Uploaded = typeof FilesResponse.Encoded
export type Collections = typeof CollectionsResponse.Encoded
export type Collection = typeof CollectionInfo.Encoded
export type Judged = typeof JudgementsList.Encoded
export type Grade = typeof Judgement.Encoded
export type Entities = typeof GraphEntities.Encoded
export type Entity = typeof GraphEntity.Encoded
export type Path = typeof GraphPath.Encoded
export type Statistics = typeof Stats.Encoded
export type Job = typeof JobSchema.Encoded
export type Report = typeof HealthReport.Encoded
export type Who = typeof WhoamiResponse.Encoded
export type Right = Who["rights"][number]
export type Problem = typeof ProblemBody.Encoded
