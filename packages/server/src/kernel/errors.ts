/**
 * Every error that leaves svcctl stands in this one catalogue. Over HTTP it becomes an RFC 9457
 * `application/problem+json` document, on the command line an exit code. `docs/errors.md` is generated from it.
 */
type CatalogueRow = {
  /** The HTTP status; 0 for errors that only the command line raises. */
  status: number;
  /** The exit code of the command line. */
  exit: number;
  /** Whether the same call, unchanged, may succeed later. */
  retryable: boolean;
  /** A public sentence that says what this code means. */
  title: string;
};

/** The exit codes of the command line that follow from a status; that of any other is 1. */
export const exitCodes: Readonly<Record<number, number>> = {
  400: 2,
  405: 2,
  413: 2,
  415: 2,
  416: 2,
  401: 4,
  403: 4,
  404: 3,
  410: 3,
  409: 6,
  429: 5,
  503: 5,
};

export const errorCatalogue = {
  token_missing: row(401, 'The request carries no access token.'),
  token_malformed: row(401, 'The access token is mistyped: its checksum does not fit.'),
  token_unknown: row(401, 'The access token is not known here.'),
  token_expired: row(401, 'The access token has expired.'),
  token_revoked: row(401, 'The access token has been revoked.'),
  token_unvouched: row(401, 'The person who made the access token has not signed in for long.'),
  session_expired: row(401, 'The console session has ended.'),
  sign_in_link_invalid: row(401, 'The one-time sign-in link is used up or too old.'),
  identity_refused: row(401, 'The identity server’s answer does not hold.'),
  person_refused: row(403, 'The person is in no group that may sign in.'),
  identity_unavailable: row(503, 'The identity server cannot be asked.'),
  portal_link_invalid: row(401, 'The link into the portal was opened before, or has ended.'),
  portal_ended: row(401, 'The session of the portal has ended.'),
  cross_site_refused: row(403, 'A session was sent from a page that is not the console.'),
  step_up_required: row(403, 'This action asks for the access token once more.'),
  address_refused: row(403, 'The access token may not be used from this address.'),
  secret_rotated_out: row(403, 'The secret was rotated out, and may do this no more.'),
  rotation_refused: row(403, 'The access token may only be rotated by itself or its makers.'),
  approval_required: row(403, 'Somebody else must confirm this, and was asked to.'),
  approval_own: row(403, 'Who asks for something cannot confirm it.'),
  scope_missing: row(403, 'The access token lacks the scope this call needs.'),
  whole_tenant_required: row(403, 'The access token is limited to stores, and this is of tenants.'),
  request_invalid: row(400, 'A parameter or the body of the request is not valid.'),
  http_invalid: row(400, 'The request is not valid HTTP.', { exit: 1 }),
  expectation_unknown: row(417, 'The Expect header asks for something else than to continue.'),
  host_refused: row(421, 'The request names a host for which this is not served.'),
  http_version_unsupported: row(505, 'This call needs HTTP/1.1.'),
  json_invalid: row(400, 'The body is not valid JSON.'),
  body_encoding_invalid: row(400, 'The body cannot be decoded as its headers say.'),
  upload_invalid: row(400, 'The upload does not hold rows as an import takes them.'),
  request_aborted: row(400, 'The client hung up before its request was whole.', {
    exit: 1,
    retryable: true,
  }),
  cursor_invalid: row(400, 'The cursor was not made for this list and these filters.'),
  target_invalid: row(400, 'The URL is not one that webhooks can be sent to.'),
  target_blocked: row(400, 'The URL leads to an address that webhooks may not be sent to.'),
  export_target_refused: row(400, 'The service may not deliver exports there.'),
  export_target_unusable: row(400, 'The place of deliveries cannot be used.', { retryable: true }),
  route_not_found: row(404, 'There is no such path or method.'),
  method_not_allowed: row(405, 'This path does not have this method.'),
  token_not_found: row(404, 'There is no such token.'),
  session_not_found: row(404, 'There is no such session.'),
  link_not_found: row(404, 'There is no such download link, or no longer.'),
  record_not_found: row(404, 'There is no such record.'),
  view_not_found: row(404, 'There is no such saved view.'),
  portal_link_not_found: row(404, 'There is no such link into the portal.'),
  endpoint_not_found: row(404, 'There is no such webhook endpoint.'),
  event_type_not_found: row(404, 'The catalogue has no such type of events.'),
  incident_not_found: row(404, 'There is no such incident.'),
  delivery_not_found: row(404, 'There is no such delivery.'),
  retry_job_not_found: row(404, 'There is no such bulk re-arm.'),
  replay_not_found: row(404, 'There is no such replay.'),
  segment_not_found: row(404, 'No live segment has this object.'),
  move_not_found: row(404, 'There is no such move in the journal.'),
  erasure_not_found: row(404, 'There is no such erasure.'),
  retention_run_not_found: row(404, 'There is no such retention run.'),
  verification_not_found: row(404, 'There is no such verification.'),
  policy_not_found: row(404, 'The tenant has no retention policy of its own.'),
  tag_not_found: row(404, 'There is no such tag.'),
  version_not_found: row(404, 'There is no such dataset version.'),
  export_not_found: row(404, 'There is no such export.'),
  schedule_not_found: row(404, 'There is no such schedule.'),
  job_not_found: row(404, 'There is no such job.'),
  approval_not_found: row(404, 'There is no such request for a confirmation.'),
  notify_target_not_found: row(404, 'There is no such target of notices.'),
  tag_exists: row(409, 'This slice is tagged so already.'),
  tags_full: row(409, 'The tenant has as many tags as it may have.'),
  dataset_empty: row(409, 'No record is tagged so and fits: there is nothing to freeze.'),
  version_name_taken: row(409, 'The tenant has a dataset version of this name already.'),
  version_changed: row(409, 'Records of the dataset version are not what was frozen.'),
  policy_changed: row(409, 'Somebody has changed the retention policy since it was read.'),
  schedule_name_taken: row(409, 'The tenant has a schedule of this name already.'),
  schedules_full: row(409, 'The tenant has as many schedules as it may have.'),
  export_unfinished: row(409, 'The export has no file yet.', { retryable: true }),
  template_unfilled: row(409, 'A record has no value for its place in the template.'),
  export_without_file: row(409, 'The export ended without a file.'),
  tail_place_gone: row(410, 'What came after this place of a tail is not told any more.'),
  export_file_gone: row(410, 'The file of the export was removed.'),
  range_unsatisfiable: row(416, 'The file has no such bytes.'),
  tenant_on_hold: row(409, 'The tenant is under legal hold.'),
  store_fenced: row(409, 'The store of cold data has gone on with another database.'),
  store_read_only: row(409, 'This process only reads the store of cold data, as SVC_STORE says.'),
  days_held: row(409, 'These days cannot be imported at once: ingest takes their records.'),
  tenant_busy: row(409, 'Data of the tenant is being moved at the moment.', { retryable: true }),
  idempotency_conflict: row(409, 'The idempotency key was used with another body.'),
  endpoint_quota: row(409, 'The tenant has as many endpoints as it may have.'),
  endpoint_uid_taken: row(409, 'The tenant has an endpoint with this uid already.'),
  endpoint_not_polled: row(409, 'The deliveries of the endpoint are sent, not fetched.'),
  endpoint_disabled: row(409, 'The endpoint is disabled.'),
  endpoint_enabled: row(409, 'The endpoint is enabled.'),
  key_not_blocked: row(409, 'No delivery of this key has failed and can be skipped.'),
  delivery_finished: row(409, 'The delivery is delivered or discarded already.'),
  retry_job_finished: row(409, 'The bulk re-arm has ended already.'),
  replay_overlaps: row(409, 'Another replay of the endpoint covers a part of this range.', {
    retryable: true,
  }),
  replay_finished: row(409, 'The replay has ended already.'),
  job_finished: row(409, 'The job has ended already.'),
  approval_ended: row(409, 'The request was confirmed or rejected before, or its time is over.'),
  approval_void: row(409, 'What was asked for is not what it would be now.'),
  view_name_taken: row(409, 'The caller has a saved view of this name already.'),
  views_full: row(409, 'The caller has as many saved views as it may have.'),
  approvals_full: row(409, 'As many requests of this token wait as may wait.'),
  job_not_cancellable: row(409, 'Jobs of this kind cannot be cancelled.'),
  body_too_large: row(413, 'The body is larger than the limit.'),
  body_mostly_empty: row(413, 'The body holds next to nothing but what is no record.'),
  media_type_unsupported: row(415, 'The body has a media type this call does not take.'),
  content_encoding_unsupported: row(415, 'The body is compressed in an unknown way.'),
  rate_limited: row(
    429,
    'The token, or those limited to its tenants, made more requests a minute than they may.',
  ),
  sign_in_limited: row(
    429,
    'Too many sign-ins from this address, or tries to confirm this session, failed.',
  ),
  requests_busy: row(429, 'The caller has as many requests under way as it may have.'),
  ingest_busy: row(429, 'More bytes are being ingested than may be at once.'),
  polls_busy: row(429, 'As many polls wait as may wait at once.'),
  tails_busy: row(429, 'As many tails run as may run at once.'),
  tail_slow: row(503, 'The reader of the tail took nothing for too long.'),
  exports_busy: row(429, 'As many exports run as may run at once.'),
  counts_full: row(429, 'As many counts of the token wait as may wait at once.'),
  exports_full: row(429, 'As many exports of the tenant wait as may wait at once.'),
  overloaded: row(503, 'The process works on as many requests as it can at once.'),
  connections_full: row(503, 'The service has as many connections as it may have.'),
  internal_error: row(500, 'The service made a mistake. The log has it under request_id.'),
  orphan_refused: row(409, 'The object cannot be taken back.'),
  segment_whole: row(409, 'The object is what was written, and its records can be read.'),
  segment_damaged: row(500, 'Cold data is missing or is not what was written.'),
  cold_tier_unavailable: row(503, 'Cold data cannot be read or written at the moment.'),
  database_unavailable: row(503, 'The database cannot be reached at the moment.'),
  read_only: row(503, 'The database only reads at the moment.'),
  database_full: row(503, 'The database has no space left to write to.'),
  database_out_of_memory: row(
    503,
    'The database has no memory left, or no room in its table of locks.',
  ),
  query_timeout: row(503, 'The database took too long to answer.'),
  database_newer: row(503, 'The database belongs to a newer release of svcctl.'),
  not_ready: row(503, 'The service is starting or stopping.'),

  config_differs: ofCommand(2, 'The service is not as the files say.'),
  usage_invalid: ofCommand(2, 'The command line is not valid.'),
  settings_invalid: ofCommand(2, 'A setting has a wrong value or is unknown.'),
  service_unreachable: ofCommand(5, 'The service does not answer.'),
  answer_unexpected: ofCommand(1, 'The service answered something this command cannot read.'),
  export_mismatch: ofCommand(1, 'The file received is not what the service announced.'),
  export_failed: ofCommand(1, 'The export ended without a file.'),
  job_failed: ofCommand(1, 'The job failed or was cancelled.'),
  in_both_datasets: ofCommand(6, 'Records would be in both datasets.'),
  records_rejected: ofCommand(
    7,
    'Some records were rejected; the others are stored, or would be if it was a check.',
  ),
  verify_failed: ofCommand(1, 'The verification found differences.'),
  notice_undelivered: ofCommand(1, 'The test did not arrive.'),
  problems_found: ofCommand(1, 'The service has problems.'),
  move_failed: ofCommand(1, 'A move failed; its source is kept.'),
  backup_incomplete: ofCommand(7, 'The backup lacks objects that were missing when it was made.'),
  partly_done: ofCommand(7, 'Some of it was done, the rest was refused.'),
  file_unreadable: ofCommand(1, 'A file cannot be read or written.'),
  file_changed: ofCommand(1, 'A file changed while it was read.'),
  columns_unmapped: ofCommand(2, 'The columns of a file do not make records.'),
  database_unusable: ofCommand(
    1,
    'The database cannot be used by this version, or on this machine.',
  ),
  database_older: ofCommand(
    1,
    'The database must be brought up to date by an earlier build of svcctl first.',
  ),
  schema_older: ofCommand(7, 'The schema of the database is older than this release.'),
  schema_refused: ofCommand(6, 'This release cannot start on the database.'),
  keys_busy: ofCommand(6, 'Another rotation of keys is under way.', { retryable: true }),
  keys_in_use: ofCommand(6, 'A process still uses the key.', { retryable: true }),
  keys_unknown: ofCommand(6, 'Some process does not know the new key yet.', { retryable: true }),
  backup_not_found: ofCommand(3, 'There is no whole backup there.'),
  backup_damaged: ofCommand(1, 'A part of the backup is missing or is not what was written.'),
  backup_older: ofCommand(1, 'The backup must be restored by an earlier build of svcctl first.'),
  backup_newer: ofCommand(1, 'The backup was made by a newer release of svcctl.'),
  backup_busy: ofCommand(6, 'Another backup of this database is under way.', { retryable: true }),
  backup_foreign: ofCommand(6, 'A copy of the database has made backups in this place.'),
  backup_place_unavailable: ofCommand(
    5,
    'The place of backups cannot be read or written at the moment.',
  ),
  backup_keys_unusable: ofCommand(
    2,
    'The keys of tenants in backups are not where they should be, or cannot be used.',
  ),
  database_not_empty: ofCommand(6, 'The database to restore into holds something already.'),
  passphrase_wrong: ofCommand(4, 'The passphrase does not open the secret key in the backup.'),
  interrupted: ofCommand(130, 'Interrupted.'),
} as const satisfies Record<string, CatalogueRow>;

export type ErrorCode = keyof typeof errorCatalogue;

/**
 * One fault of the input: where it is (`/records/3/tenant`, `?limit`), a stable code, and a sentence. In a text with a
 * grammar, `at` is the position of the character where it goes wrong, from 1.
 */
export type InputFault = { path: string; code: string; message: string; at?: number };

type AppErrorOptions = {
  /** Tells the caller what to do next. It must hold no private data. */
  detail?: string;
  /** Whether the detail names what a tenant sent: then the log has the title of the code in its place. */
  isOfTenant?: boolean;
  errors?: readonly InputFault[];
  retryAfterSeconds?: number;
  /** Further members of the problem document, which the contract of the route declares. */
  members?: Readonly<Record<string, unknown>>;
  /** The cause is written to the log and never sent to the caller. */
  cause?: unknown;
};

/**
 * The one error class. An error is thrown where the cause is known, and translated once for each face: HTTP and command
 * line.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: readonly InputFault[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    const { title } = errorCatalogue[code];
    const { detail = title, isOfTenant = false } = options;
    super(
      `${code}: ${isOfTenant ? title : detail}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'AppError';
    this.code = code;
    this.detail = detail;
    // The log writes message, stack and what can be enumerated.
    if (isOfTenant) Object.defineProperty(this, 'detail', { enumerable: false });
    this.errors = options.errors;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.members = options.members ?? {};
  }

  /**
   * The built command line has a copy of this class of its own. An error of the service that it starts is an error of
   * the catalogue there, too, and the other way round.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'AppError';
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }

  get exitCode(): number {
    return errorCatalogue[this.code].exit;
  }
}

/** Whether an error says that the database can do nothing now, or write nothing: work waits for it, and has not failed. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return error.code === 'database_unavailable' || error.code === 'read_only';
}

/** Makes a 400 that names what is wrong with one parameter (`?limit`) or one field of the body (`/tenant`). */
export function invalidInput(path: string, message: string, code = 'value_invalid'): AppError {
  const name = path.replace(/^[?/]/, '');
  return new AppError('request_invalid', {
    detail: name === '' ? message : `${name}: ${message}`,
    errors: [{ path, code, message }],
  });
}

/**
 * Throws 400 `request_invalid` when only one end of a range of days is given, or its first day lies after the last. `at`
 * is `?` for a query and `/` for a body.
 */
export function checkDayRange(
  at: '?' | '/',
  { from = null, to = null }: { from?: string | null | undefined; to?: string | null | undefined },
): void {
  if ((from === null) !== (to === null)) {
    const missing = from === null ? 'from' : 'to';
    throw invalidInput(`${at}${missing}`, 'from and to need each other', 'field_required');
  }
  if (from !== null && to !== null && from > to) {
    throw invalidInput(`${at}from`, `${from} lies after to, ${to}`);
  }
}

/** A row for an error that HTTP answers with. What passes by itself has the status 429 or 503. */
function row(
  status: number,
  title: string,
  special: { exit?: number; retryable?: boolean } = {},
): CatalogueRow {
  const exit = exitCodes[status] ?? 1;
  return { status, exit, retryable: status === 429 || status === 503, title, ...special };
}

/** A row for an error that only the command line raises. */
function ofCommand(
  exit: number,
  title: string,
  { retryable = exit === 5 }: { retryable?: boolean } = {},
): CatalogueRow {
  return { status: 0, exit, retryable, title };
}
