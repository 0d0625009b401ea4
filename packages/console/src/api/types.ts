// Types of the service's contract. Only types: nothing of the server may end up in the bundle (import-rules.mjs).
import type { Static } from 'typebox';
import type {
  actorSchema,
  auditEntrySchema,
  auditVerdictSchema,
  bulkJobSchema,
  bulkPreviewSchema,
  bulkRequestSchema,
  catalogueTypeSchema,
  coldStoreSummarySchema,
  csvRequestSchema,
  daySchema,
  deliveryDetailSchema,
  deliveryGroupSchema,
  deliveryHoursSchema,
  deliverySchema,
  endpointChangeSchema,
  endpointSchema,
  endpointStorySchema,
  eraseReceiptSchema,
  eraseRequestSchema,
  fieldsSchema,
  filterTrialSchema,
  foundSchema,
  hotSpaceSchema,
  icebergContract,
  incidentDetailSchema,
  incidentReceiptSchema,
  linesPreviewSchema,
  listedIncidentSchema,
  monthSumSchema,
  moveSchema,
  ndjsonRequestSchema,
  newEndpointSchema,
  newScheduleSchema,
  newTagSchema,
  newTargetSchema,
  newTokenSchema,
  newVersionSchema,
  noticeSchema,
  PortalLink,
  pingedDeliverySchema,
  planRowSchema,
  planTotalsSchema,
  policyChangeSchema,
  policySchema,
  recordCountSchema,
  replayPreviewSchema,
  replayRequestSchema,
  replaySchema,
  runSchema,
  scheduleChangeSchema,
  scheduleSchema,
  sessionSchema,
  sharesSchema,
  tagSchema,
  targetSchema,
  templatePreviewSchema,
  tenantStateSchema,
  testResultSchema,
  tokenSchema,
  triedFilterSchema,
  verificationSchema,
  versionDiffSchema,
  versionSchema,
} from '../../../server/src/contract.ts';

export type {
  Approval,
  DatasetRow,
  DescribedField,
  ExportJob,
  Field,
  Finding,
  ListedJob,
  Manifest,
  NewPortalLink,
  Overview,
  PortalLink,
  ProcessRow,
  RecordsOverview,
  Status as ServiceStatus,
  Tagged,
  TripleRow,
  Trouble,
  WebhooksOverview,
  WorkRow,
} from '../../../server/src/contract.ts';

/** Who is signed in. `tenants` null means all tenants, `expires_at` null means never. */
export type Actor = Static<typeof actorSchema>;
export type AccessToken = Static<typeof tokenSchema>;
export type NewToken = Static<typeof newTokenSchema>;
/** A token just made: the only time that it is told. */
export type MadeToken = AccessToken & { token: string };
export type Session = Static<typeof sessionSchema>;
/** A link just made: the only time that its URL is told. */
export type MadePortalLink = PortalLink & { url: string };
/** An export that is delivered by itself. */
export type Schedule = Static<typeof scheduleSchema>;
export type NewSchedule = Static<typeof newScheduleSchema>;
export type ScheduleChange = Static<typeof scheduleChangeSchema>;
export type Notice = Static<typeof noticeSchema>;
export type NotifyTarget = Static<typeof targetSchema>;
export type NewTarget = Static<typeof newTargetSchema>;
/** The only answer with a secret of notices; null for e-mail. */
export type MadeTarget = NotifyTarget & { secret: string | null };
export type NotifyTestResult = Static<typeof testResultSchema>;
export type AuditEntry = Static<typeof auditEntrySchema>;
export type AuditVerdict = Static<typeof auditVerdictSchema>;

/** The body of an export request, of any format, as its job stores it. */
export type ExportRequest = Static<typeof csvRequestSchema> &
  Pick<Static<typeof ndjsonRequestSchema>, 'template' | 'missing'> & { typed?: true };

/** How a file begins. */
export type LinesPreview = Static<typeof linesPreviewSchema>;

/** The first line that a template makes. */
export type TemplatePreview = Static<typeof templatePreviewSchema>;

/** The cold records as a table of Iceberg. */
export type IcebergTable = Static<
  (typeof icebergContract)['loadIcebergTable']['responses'][200]['schema']
>;

/** The columns of the fields in a typed file. */
export type FoundSchema = Static<typeof foundSchema>;

export type Tag = Static<typeof tagSchema>;
export type NewTag = Static<typeof newTagSchema>;
/** The counters of one day of a tenant, a store or a leaf. */
export type DayRow = Static<typeof daySchema>;
/** How many records of a stretch fit. */
export type RecordCount = Static<typeof recordCountSchema>;
/** The records of one month, hot and cold. */
export type MonthSum = Static<typeof monthSumSchema>;
/** The fields of the enrichments of a slice. */
export type RecordFields = Static<typeof fieldsSchema>;
export type Shares = Static<typeof sharesSchema>;
export type DatasetVersion = Static<typeof versionSchema>;
/** What one version has more and less than another. */
export type VersionDiff = Static<typeof versionDiffSchema>;
export type NewVersion = Static<typeof newVersionSchema>;

/** A page of a list that is searched: `searched_to` is set where it is not full, although there may be more. */
export type FoundPage<Row> = Page<Row> & { total: number | null; searched_to: string | null };
export type Endpoint = Static<typeof endpointSchema>;
export type EndpointStory = Static<typeof endpointStorySchema>;
/** An endpoint as it is read alone; in lists it has no story. */
export type ToldEndpoint = Endpoint & { story?: EndpointStory };
/** A type of events, as the catalogue has it. */
export type CatalogueType = Static<typeof catalogueTypeSchema>;
export type NewEndpoint = Static<typeof newEndpointSchema>;
export type FilterTrial = Static<typeof filterTrialSchema>;
export type TriedFilter = Static<typeof triedFilterSchema>;
export type EndpointChange = Static<typeof endpointChangeSchema>;
/** An endpoint with its secret, which the service shows only when it is made. */
export type PingedDelivery = Static<typeof pingedDeliverySchema>;
export type EndpointWithSecret = Endpoint & { secret: string };
export type Delivery = Static<typeof deliverySchema>;
export type DeliveryDetail = Static<typeof deliveryDetailSchema>;
/** One attempt of a delivery. */
export type Attempt = DeliveryDetail['attempt_log'][number];
/** The deliveries of one endpoint that failed in the same way. */
export type DeliveryGroup = Static<typeof deliveryGroupSchema>;
/** What became of attempts, one number for each hour. */
export type DeliveryHours = Static<typeof deliveryHoursSchema>;
/** An incident in a list. */
export type Incident = Static<typeof listedIncidentSchema>;
export type IncidentDetail = Static<typeof incidentDetailSchema>;
/** What an erasure of an incident took, and what remains. */
export type IncidentReceipt = Static<typeof incidentReceiptSchema>;
/** A page of the dead-letter queue. `total` is null while a search text filters it: those matches are not counted. */
export type DeadLetters = Page<Delivery> & { total: number | null };
/** The filters of what is done to dead letters in bulk. */
export type BulkRequest = Static<typeof bulkRequestSchema>;
/** What a bulk job would do. */
export type BulkPreview = Static<typeof bulkPreviewSchema>;
export type BulkJob = Static<typeof bulkJobSchema>;
export type ReplayRequest = Static<typeof replayRequestSchema>;
/** What a replay would do. */
export type ReplayPreview = Static<typeof replayPreviewSchema>;
export type Replay = Static<typeof replaySchema>;

export type RetentionPolicy = Static<typeof policySchema>;
export type PolicyChange = Static<typeof policyChangeSchema>;
/** How much of a tenant lies hot and cold. */
export type TenantState = Static<typeof tenantStateSchema>;
/** What a run of retention would do with one tenant. */
export type PlanRow = Static<typeof planRowSchema>;
export type PlanTotals = Static<typeof planTotalsSchema>;
/** Whether the store of cold data can be used, and if not, why. */
export type StoreSummary = Static<typeof coldStoreSummarySchema>;
/**
 * A page of the plan of a run. `totals` are those of all tenants, not of this page. `hot_space` is null on later pages,
 * and for tokens that are limited to tenants.
 */
export type Plan = Page<PlanRow> & {
  totals: PlanTotals;
  hot_space: Static<typeof hotSpaceSchema> | null;
  store: StoreSummary;
};
export type RetentionRun = Static<typeof runSchema>;
export type RetentionMove = Static<typeof moveSchema>;
export type EraseRequest = Static<typeof eraseRequestSchema>;
/** What an erasure took, or with `dry_run` would take. */
export type EraseReceipt = Static<typeof eraseReceiptSchema>;
export type Verification = Static<typeof verificationSchema>;

/** A page of a list of the API. */
export type Page<T> = { data: T[]; next_cursor: string | null; prev_cursor?: string | null };

/** One fault of the input: where it is (`?limit`, `/tenant`), a stable code, and a sentence. */
export type InputFault = { path: string; code: string; message: string; at?: number };
