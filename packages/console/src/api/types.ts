// Types of the service's contract. Only types: nothing of the server may end up in the bundle (import-rules.mjs).
import type { Static } from 'typebox';
import type * as contract from '../../../server/src/contract.ts';

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
export type Actor = Static<typeof contract.actorSchema>;
export type AccessToken = Static<typeof contract.listedTokenSchema>;
export type NewToken = Static<typeof contract.newTokenSchema>;
/** A token just made: the only time that it is told. */
export type MadeToken = Static<typeof contract.tokenSchema> & { token: string };
export type Session = Static<typeof contract.sessionSchema>;
/** A link just made: the only time that its URL is told. */
export type MadePortalLink = contract.PortalLink & { url: string };
/** An export that is delivered by itself. */
export type Schedule = Static<typeof contract.scheduleSchema>;
export type NewSchedule = Static<typeof contract.newScheduleSchema>;
export type ScheduleChange = Static<typeof contract.scheduleChangeSchema>;
export type Notice = Static<typeof contract.noticeSchema>;
export type NotifyTarget = Static<typeof contract.targetSchema>;
export type NewTarget = Static<typeof contract.newTargetSchema>;
/** The only answer with a secret of notices; null for e-mail. */
export type MadeTarget = NotifyTarget & { secret: string | null };
export type NotifyTestResult = Static<typeof contract.testResultSchema>;
export type AuditEntry = Static<typeof contract.auditEntrySchema>;
export type AuditVerdict = Static<typeof contract.auditVerdictSchema>;

/** The body of an export request, of any format, as its job stores it. */
export type ExportRequest = Static<typeof contract.csvRequestSchema> &
  Pick<Static<typeof contract.ndjsonRequestSchema>, 'template' | 'missing'> & { typed?: true };

/** How a file begins. */
export type LinesPreview = Static<typeof contract.linesPreviewSchema>;

/** The first line that a template makes. */
export type TemplatePreview = Static<typeof contract.templatePreviewSchema>;

/** The cold records as a table of Iceberg. */
export type IcebergTable = Static<
  (typeof contract.icebergContract)['loadIcebergTable']['responses'][200]['schema']
>;

/** The columns of the fields in a typed file. */
export type FoundSchema = Static<typeof contract.foundSchema>;

export type Tag = Static<typeof contract.tagSchema>;
export type NewTag = Static<typeof contract.newTagSchema>;
/** The counters of one day of a tenant, a store or a leaf. */
export type DayRow = Static<typeof contract.daySchema>;
/** How many records of a stretch fit. */
export type RecordCount = Static<typeof contract.recordCountSchema>;
/** A count of records that fit, as a job. */
export type CountJob = contract.CountJob;
/** The records of one month, hot and cold. */
export type MonthSum = Static<typeof contract.monthSumSchema>;
/** The fields of the enrichments of a slice. */
export type RecordFields = Static<typeof contract.fieldsSchema>;
export type Shares = Static<typeof contract.sharesSchema>;
export type DatasetVersion = Static<typeof contract.versionSchema>;
/** What one version has more and less than another. */
export type VersionDiff = Static<typeof contract.versionDiffSchema>;
export type NewVersion = Static<typeof contract.newVersionSchema>;

/** A page of a list that is searched: `searched_to` is set where it is not full, although there may be more. */
export type FoundPage<Row> = Page<Row> & { total: number | null; searched_to: string | null };
export type Endpoint = Static<typeof contract.endpointSchema>;
export type EndpointStory = Static<typeof contract.endpointStorySchema>;
/** An endpoint as it is read alone; in lists it has no story. */
export type ToldEndpoint = Endpoint & { story?: EndpointStory };
/** A type of events, as the catalogue has it. */
export type CatalogueType = Static<typeof contract.catalogueTypeSchema>;
export type NewEndpoint = Static<typeof contract.newEndpointSchema>;
export type FilterTrial = Static<typeof contract.filterTrialSchema>;
export type TriedFilter = Static<typeof contract.triedFilterSchema>;
export type EndpointChange = Static<typeof contract.endpointChangeSchema>;
/** An endpoint with its secret, which the service shows only when it is made. */
export type PingedDelivery = Static<typeof contract.pingedDeliverySchema>;
export type EndpointWithSecret = Endpoint & { secret: string };
export type Delivery = Static<typeof contract.deliverySchema>;
export type DeliveryDetail = Static<typeof contract.deliveryDetailSchema>;
/** One attempt of a delivery. */
export type Attempt = DeliveryDetail['attempt_log'][number];
/** The deliveries of one endpoint that failed in the same way. */
export type DeliveryGroup = Static<typeof contract.deliveryGroupSchema>;
/** What became of attempts, one number for each hour. */
export type DeliveryHours = Static<typeof contract.deliveryHoursSchema>;
/** An incident in a list. */
export type Incident = Static<typeof contract.listedIncidentSchema>;
export type IncidentDetail = Static<typeof contract.incidentDetailSchema>;
/** What an erasure of an incident took, and what remains. */
export type IncidentReceipt = Static<typeof contract.incidentReceiptSchema>;
/** A page of the dead-letter queue. `total` is null while a search text filters it: those matches are not counted. */
export type DeadLetters = Page<Delivery> & { total: number | null };
/** The filters of what is done to dead letters in bulk. */
export type BulkRequest = Static<typeof contract.bulkRequestSchema>;
/** What a bulk job would do. */
export type BulkPreview = Static<typeof contract.bulkPreviewSchema>;
export type BulkJob = Static<typeof contract.bulkJobSchema>;
export type ReplayRequest = Static<typeof contract.replayRequestSchema>;
/** What a replay would do. */
export type ReplayPreview = Static<typeof contract.replayPreviewSchema>;
export type Replay = Static<typeof contract.replaySchema>;

export type RetentionPolicy = Static<typeof contract.policySchema>;
export type PolicyChange = Static<typeof contract.policyChangeSchema>;
/** How much of a tenant lies hot and cold. */
export type TenantState = Static<typeof contract.tenantStateSchema>;
/** What a run of retention would do with one tenant. */
export type PlanRow = Static<typeof contract.planRowSchema>;
export type PlanTotals = Static<typeof contract.planTotalsSchema>;
/** Whether the store of cold data can be used, and if not, why. */
export type StoreSummary = Static<typeof contract.coldStoreSummarySchema>;
/**
 * A page of the plan of a run. `totals` are those of all tenants, not of this page. `hot_space` is null on later pages,
 * and for tokens that are limited to tenants.
 */
export type Plan = Page<PlanRow> & {
  totals: PlanTotals;
  hot_space: Static<typeof contract.hotSpaceSchema> | null;
  store: StoreSummary;
};
export type RetentionRun = Static<typeof contract.runSchema>;
export type RetentionMove = Static<typeof contract.moveSchema>;
/** A page with its filters, under a name. */
export type SavedView = contract.SavedView;
export type EraseRequest = Static<typeof contract.eraseRequestSchema>;
/** What an erasure took, or with `dry_run` would take. */
export type EraseReceipt = Static<typeof contract.eraseReceiptSchema>;
export type Verification = Static<typeof contract.verificationSchema>;

/** A page of a list of the API. */
export type Page<T> = { data: T[]; next_cursor: string | null; prev_cursor?: string | null };

/** One fault of the input: where it is (`?limit`, `/tenant`), a stable code, and a sentence. */
export type InputFault = { path: string; code: string; message: string; at?: number };
