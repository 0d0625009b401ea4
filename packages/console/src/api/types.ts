// Types of the service's contract. Only types: nothing of the server may end up in the bundle (import-rules.mjs).
import type { Static } from 'typebox';
import type {
  actorSchema,
  coldStoreSummarySchema,
  csvRequestSchema,
  daySchema,
  deliveryDetailSchema,
  deliveryGroupSchema,
  deliverySchema,
  endpointChangeSchema,
  endpointSchema,
  factsSchema,
  hotSpaceSchema,
  moveSchema,
  newEndpointSchema,
  newTagSchema,
  newVersionSchema,
  planRowSchema,
  planTotalsSchema,
  policyChangeSchema,
  policySchema,
  retryJobSchema,
  retryPreviewSchema,
  retryRequestSchema,
  runSchema,
  sharesSchema,
  tagSchema,
  tenantStateSchema,
  verificationSchema,
  versionSchema,
} from '../../../server/src/contract.ts';

export type {
  DatasetRow,
  ExportJob,
  Manifest,
  Tagged,
  TripleRow,
} from '../../../server/src/contract.ts';

/** Who is signed in. `tenants` null means all tenants, `expires_at` null means never. */
export type Actor = Static<typeof actorSchema>;
/** The body of an export request, of any format, as its job stores it. */
export type ExportRequest = Static<typeof csvRequestSchema>;

export type Tag = Static<typeof tagSchema>;
export type NewTag = Static<typeof newTagSchema>;
export type DayRow = Static<typeof daySchema>;
/** The most frequent kinds, sources and models of a slice. */
export type RecordFacts = Static<typeof factsSchema>;
export type Shares = Static<typeof sharesSchema>;
export type DatasetVersion = Static<typeof versionSchema>;
export type NewVersion = Static<typeof newVersionSchema>;

export type Endpoint = Static<typeof endpointSchema>;
export type NewEndpoint = Static<typeof newEndpointSchema>;
export type EndpointChange = Static<typeof endpointChangeSchema>;
/** An endpoint with its secret, which the service shows only when it is made. */
export type EndpointWithSecret = Endpoint & { secret: string };
export type Delivery = Static<typeof deliverySchema>;
export type DeliveryDetail = Static<typeof deliveryDetailSchema>;
export type Attempt = DeliveryDetail['attempt_log'][number];
export type DeliveryGroup = Static<typeof deliveryGroupSchema>;
/** A page of the dead-letter queue. `total` is null while a search text filters it: those matches are not counted. */
export type DeadLetters = Page<Delivery> & { total: number | null };
export type RetryRequest = Static<typeof retryRequestSchema>;
export type RetryPreview = Static<typeof retryPreviewSchema>;
export type RetryJob = Static<typeof retryJobSchema>;

export type RetentionPolicy = Static<typeof policySchema>;
export type PolicyChange = Static<typeof policyChangeSchema>;
/** How much of a tenant lies hot and cold. */
export type TenantState = Static<typeof tenantStateSchema>;
export type PlanRow = Static<typeof planRowSchema>;
export type PlanTotals = Static<typeof planTotalsSchema>;
export type StoreSummary = Static<typeof coldStoreSummarySchema>;
export type Plan = Page<PlanRow> & {
  totals: PlanTotals;
  hot_space: Static<typeof hotSpaceSchema> | null;
  store: StoreSummary;
};
export type RetentionRun = Static<typeof runSchema>;
export type RetentionMove = Static<typeof moveSchema>;
export type Verification = Static<typeof verificationSchema>;

/** A page of a list of the API. */
export type Page<T> = { data: T[]; next_cursor: string | null; prev_cursor?: string | null };

/** One fault of the input: where it is (`?limit`, `/tenant`), a stable code, and a sentence. */
export type InputFault = { path: string; code: string; message: string };
