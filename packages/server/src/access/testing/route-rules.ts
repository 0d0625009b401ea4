import type { Scope } from '../../kernel/values.ts';

/** What holds for a route. matrix.scenario.db.test.ts calls every route by it, as every kind of caller. */
export type RouteRule = {
  /** The scope that the token needs; `any`: any valid token will do; `open`: the call needs no token. */
  readonly scope: Scope | 'any' | 'open';
  /** `confirms`: a session needs step-up. Else why not: it `reads`, or what it writes is harmless. */
  readonly session: string;
  /** How a tenant looks to a token that is limited to others. */
  readonly foreign: ForeignTenant;
  /** The action of the one entry in the audit log of a call that succeeds, or in brackets why there is none. */
  readonly audit: string;
};

/**
 * - empty: as a tenant that has nothing, with a 2xx
 * - 400, 404: refused in the words used of a tenant, or an id, that does not exist
 * - rejected: each of its records, or lines, is rejected as `tenant_not_allowed`
 * - 403: the call is only for tokens that reach all tenants
 * - none: the call concerns no tenant
 */
export type ForeignTenant = 'empty' | '400' | '404' | 'rejected' | '403' | 'none';

/** Which routes a token that is limited to stores may call: all others refuse it. */
export const storeRoutes: ReadonlySet<string> = new Set([
  ...['confirmSession', 'whoAmI', 'endOwnSessions'],
  ...['ingestRecords', 'listDatasets', 'listMonthSums', 'listRecords', 'getRecord'],
  ...['countRecords', 'startCount', 'getCount', 'changeCount', 'listDays', 'getFacts', 'getFields'],
  ...['estimateExport', 'inferSchema', 'previewTemplate', 'previewExport'],
  ...['exportCsv', 'exportNdjson', 'exportParquet'],
  ...['listExports', 'getExport', 'getManifest', 'downloadFile', 'cancelExport'],
  ...['listJobs', 'getJob', 'cancelJob'],
]);

const reads = 'reads';
const untold = '(reads)';

/** One line for each route. To add a route, add its line, and its body, where it takes one, to route-calls.ts. */
export const routeRules: Readonly<Record<string, RouteRule>> = {
  // scope, console session, foreign tenant, audit log
  listSignIns: rule('open', reads, 'none', untold),
  beginSignIn: rule('open', 'the identity server says who it is', 'none', '(done by its answer)'),
  signIn: rule('open', 'gives the token itself', 'none', 'session.open'),
  signOut: rule('open', 'ends no session but its own', 'none', 'session.close'),
  confirmSession: rule('any', 'gives the token itself', 'none', 'session.confirm'),
  whoAmI: rule('any', reads, 'none', untold),
  createToken: rule('tokens:manage', 'confirms', '400', 'token.create'),
  listTokens: rule('audit:read', reads, 'empty', untold),
  revokeToken: rule('tokens:manage', 'confirms', '404', 'token.revoke'),
  rotateToken: rule('tokens:manage', 'confirms', '404', 'token.rotate'),
  listSessions: rule('audit:read', reads, 'empty', untold),
  endSession: rule('admin', 'whoever was in it signs in again', '404', 'session.end'),
  endOwnSessions: rule('any', 'whoever was in them signs in again', 'none', 'session.end_all'),
  listAuditLog: rule('audit:read', reads, 'empty', untold),
  verifyAuditLog: rule('audit:read', reads, '403', untold),

  listApprovals: rule('retention:manage', reads, 'empty', untold),
  getApproval: rule('retention:manage', reads, '404', untold),
  confirmApproval: rule('admin', 'confirms', '404', 'approval.confirm'),
  rejectApproval: rule('retention:manage', 'asking again undoes it', '404', 'approval.reject'),

  listSavedViews: rule('any', reads, 'empty', untold),
  putSavedView: rule('any', 'another change undoes it', '400', '(a person’s own)'),
  deleteSavedView: rule('any', 'saving it again undoes it', '404', '(a person’s own)'),

  createPortalLink: rule('webhooks:manage', 'confirms', '400', 'portal_link.create'),
  listPortalLinks: rule('webhooks:manage', reads, 'empty', untold),
  revokePortalLink: rule(
    'webhooks:manage',
    'makes somebody open another',
    '404',
    'portal_link.revoke',
  ),
  openPortal: rule('open', 'gives the code itself', 'none', 'portal_link.open'),
  closePortal: rule('open', 'ends no session but its own', 'none', 'portal_link.revoke'),

  ingestRecords: rule('enrichment:write', 'only adds', 'rejected', '(a pipeline’s write)'),
  listDatasets: rule('enrichment:read', reads, 'empty', untold),
  listMonthSums: rule('enrichment:read', reads, 'empty', untold),
  getOverview: rule('any', reads, 'empty', untold),
  getStatus: rule('admin', reads, '403', untold),
  getExamination: rule('admin', reads, '403', untold),
  listRecords: rule('enrichment:read', reads, 'empty', untold),
  countRecords: rule('enrichment:read', reads, 'empty', untold),
  startCount: rule('enrichment:read', 'reads in the background', '400', untold),
  getCount: rule('enrichment:read', reads, '404', untold),
  startImport: rule('enrichment:write', 'only adds', 'none', '(a pipeline’s write)'),
  getImport: rule('enrichment:read', reads, '404', untold),
  reportImport: rule('enrichment:write', 'only adds', '404', '(a pipeline’s write)'),
  changeCount: rule('enrichment:read', 'another change undoes it', '404', 'count.pause'),
  tailRecords: rule('enrichment:read', reads, 'empty', untold),
  getRecord: rule('enrichment:read', reads, '404', untold),
  listDays: rule('enrichment:read', reads, 'empty', untold),
  getFacts: rule('enrichment:read', reads, 'empty', untold),
  getFields: rule('enrichment:read', reads, 'empty', untold),

  createTag: rule('datasets:write', 'only adds', '400', 'tag.create'),
  listTags: rule('enrichment:read', reads, 'empty', untold),
  deleteTag: rule('datasets:write', 'tagging again undoes it', '404', 'tag.delete'),
  createVersion: rule('datasets:write', 'only adds', '400', 'version.create'),
  listVersions: rule('enrichment:read', reads, 'empty', untold),
  getVersion: rule('enrichment:read', reads, '404', untold),
  diffVersions: rule('enrichment:read', reads, '404', untold),
  deleteVersion: rule('datasets:write', 'confirms', '404', 'version.delete'),

  estimateExport: rule('analytics:read', reads, 'empty', untold),
  inferSchema: rule('analytics:read', reads, 'empty', untold),
  previewTemplate: rule('analytics:read', reads, 'empty', untold),
  previewExport: rule('analytics:read', reads, 'empty', untold),
  exportCsv: rule('analytics:read', reads, 'empty', 'export.csv'),
  exportNdjson: rule('analytics:read', reads, 'empty', 'export.ndjson'),
  exportParquet: rule('analytics:read', reads, 'empty', 'export.parquet'),
  exportBundle: rule('analytics:read', 'another export makes it again', '404', 'export.create'),
  downloadExport: rule('open', reads, 'none', 'export.csv'),
  listExports: rule('analytics:read', reads, 'empty', untold),
  getExport: rule('analytics:read', reads, '404', untold),
  getManifest: rule('analytics:read', reads, '404', untold),
  downloadFile: rule('analytics:read', reads, '404', 'export.download'),
  createSchedule: rule('admin', 'confirms', '400', 'schedule.create'),
  listSchedules: rule('analytics:read', reads, 'empty', untold),
  getSchedule: rule('analytics:read', reads, '404', untold),
  changeSchedule: rule('admin', 'another change undoes it', '404', 'schedule.change'),
  runSchedule: rule('admin', 'only adds', '404', 'schedule.run'),
  deleteSchedule: rule('admin', 'confirms', '404', 'schedule.delete'),
  cancelExport: rule('analytics:read', 'another export makes it again', '404', 'export.remove'),

  listPolicies: rule('enrichment:read', reads, 'empty', untold),
  getPolicy: rule('enrichment:read', reads, '404', untold),
  putPolicy: rule('retention:manage', 'confirms', '400', 'retention.policy.set'),
  deletePolicy: rule('retention:manage', 'confirms', '404', 'retention.policy.delete'),
  listTenantStates: rule('enrichment:read', reads, 'empty', untold),
  getPlan: rule('enrichment:read', reads, 'empty', untold),
  startRun: rule('retention:manage', 'confirms', '400', 'retention.run'),
  listRuns: rule('enrichment:read', reads, 'empty', untold),
  getRun: rule('enrichment:read', reads, '404', untold),
  getStore: rule('enrichment:read', reads, 'none', untold),
  adoptStore: rule('admin', 'confirms', '403', 'retention.adopt_store'),
  listOrphans: rule('admin', reads, '403', untold),
  removeOrphans: rule('admin', 'confirms', '403', 'retention.orphans.remove'),
  adoptOrphan: rule('admin', 'confirms', '403', 'retention.orphans.adopt'),
  forgetSegment: rule('admin', 'confirms', '404', 'retention.forget'),
  listMoves: rule('enrichment:read', reads, 'empty', untold),
  getMove: rule('enrichment:read', reads, '404', untold),
  listSegments: rule('enrichment:read', reads, 'empty', untold),
  startVerification: rule('retention:manage', reads, 'empty', 'retention.verify'),
  listVerifications: rule('enrichment:read', reads, 'empty', untold),
  getVerification: rule('enrichment:read', reads, '404', untold),
  planImport: rule('enrichment:write', reads, 'empty', untold),
  importDays: rule('enrichment:write', 'only adds', '400', '(a pipeline’s write)'),
  planErasure: rule('admin', reads, 'empty', untold),
  eraseRecords: rule('admin', 'confirms', 'empty', 'records.erase'),
  getErasure: rule('audit:read', reads, '404', untold),

  getIcebergConfig: rule('enrichment:read', reads, 'none', untold),
  listIcebergNamespaces: rule('enrichment:read', reads, 'none', untold),
  getIcebergNamespace: rule('enrichment:read', reads, 'none', untold),
  listIcebergTables: rule('enrichment:read', reads, 'none', untold),
  loadIcebergTable: rule('enrichment:read', reads, 'none', untold),

  createEndpoint: rule('endpoints:manage', 'confirms', '400', 'endpoint.create'),
  listEndpoints: rule('webhooks:read', reads, 'empty', untold),
  getEndpoint: rule('webhooks:read', reads, '404', untold),
  changeEndpoint: rule(
    'endpoints:manage',
    'undone by another change; a url confirms',
    '404',
    'endpoint.change',
  ),
  discardBacklog: rule('webhooks:manage', 'confirms', '404', 'endpoint.discard_backlog'),
  deleteEndpoint: rule('webhooks:manage', 'confirms', '404', 'endpoint.delete'),
  rotateSecret: rule('endpoints:manage', 'confirms', '404', 'endpoint.rotate_secret'),
  endOldSecrets: rule('endpoints:manage', 'confirms', '404', 'endpoint.end_old_secrets'),
  pingEndpoint: rule('endpoints:manage', 'only adds', '404', 'endpoint.ping'),
  listEventTypes: rule('incidents:read', reads, 'none', untold),
  getEventType: rule('incidents:read', reads, 'none', untold),
  setEventType: rule('admin', 'another change undoes it', '403', 'event_type.set'),
  deleteEventType: rule('admin', 'adding it again undoes it', '403', 'event_type.delete'),
  listBlockedKeys: rule('webhooks:read', reads, '404', untold),
  skipHead: rule('deliveries:retry', 'a retry sends it after all', '404', 'endpoint.skip'),
  testFilter: rule('webhooks:read', reads, 'empty', untold),
  reportIncident: rule('incidents:write', 'only adds', '400', '(a pipeline’s write)'),
  listIncidents: rule('incidents:read', reads, 'empty', untold),
  getIncident: rule('incidents:read', reads, '404', untold),
  eraseIncident: rule('admin', 'confirms', '404', 'incident.erase'),
  listDeliveries: rule('webhooks:read', reads, 'empty', untold),
  getDeliveryHours: rule('webhooks:read', reads, 'empty', untold),

  listDeadLetters: rule('webhooks:read', reads, 'empty', untold),
  listDeadLetterGroups: rule('webhooks:read', reads, 'empty', untold),
  getDeadLetter: rule('webhooks:read', reads, '404', untold),
  retryDeadLetter: rule('deliveries:retry', 'a retry discards nothing', '404', 'delivery.retry'),
  purgeDeadLetter: rule('admin', 'confirms', '404', 'delivery.purge'),
  retryDeadLetters: rule('dlq:operate', 'a retry discards nothing', 'empty', 'retry_job.create'),
  purgeDeadLetters: rule(
    'admin',
    'a preview changes nothing; all else confirms',
    'empty',
    'purge_job.create',
  ),
  listBulkJobs: rule('dlq:operate', reads, 'empty', untold),
  getBulkJob: rule('dlq:operate', reads, '404', untold),
  changeBulkJob: rule('dlq:operate', 'another change undoes it', '404', 'retry_job.change'),
  cancelBulkJob: rule('dlq:operate', 'leaves the rows as they are', '404', 'retry_job.cancel'),
  listRetryJobs: rule('dlq:operate', reads, 'empty', untold),
  getRetryJob: rule('dlq:operate', reads, '404', untold),
  changeRetryJob: rule('dlq:operate', 'another change undoes it', '404', 'retry_job.change'),
  cancelRetryJob: rule('dlq:operate', 'leaves the rows as they are', '404', 'retry_job.cancel'),

  pollDeliveries: rule(
    'deliveries:poll',
    'what it acknowledges was handed out',
    '404',
    '(a receiver’s read)',
  ),
  replayEndpoint: rule(
    'deliveries:retry',
    'sends what the tenant has reported',
    '404',
    'endpoint.replay',
  ),
  getReplay: rule('webhooks:read', reads, '404', untold),
  changeReplay: rule('deliveries:retry', 'another change undoes it', '404', 'replay.change'),

  createNotifyTarget: rule('admin', 'confirms', '403', 'notify_target.create'),
  listNotifyTargets: rule('admin', reads, '403', untold),
  changeNotifyTarget: rule('admin', 'another change undoes it', '403', 'notify_target.change'),
  deleteNotifyTarget: rule('admin', 'confirms', '403', 'notify_target.delete'),
  tryNotifyTarget: rule('admin', 'confirms', '403', 'notify_target.test'),
  testNotifyTarget: rule('admin', 'only adds', '403', 'notify_target.test'),
  listNotices: rule('admin', reads, '403', untold),

  listJobs: rule('any', reads, 'empty', untold),
  getJob: rule('any', reads, '404', untold),
  cancelJob: rule('any', 'leaves what is done as it is', '404', 'retry_job.cancel'),
};

function rule(
  scope: RouteRule['scope'],
  session: string,
  foreign: ForeignTenant,
  audit: string,
): RouteRule {
  return { scope, session, foreign, audit };
}
