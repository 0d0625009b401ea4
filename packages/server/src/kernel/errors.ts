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

export const errorCatalogue = {
  token_missing: row(401, 4, false, 'The request carries no access token.'),
  token_malformed: row(401, 4, false, 'The access token is mistyped: its checksum does not fit.'),
  token_unknown: row(401, 4, false, 'The access token is not known here.'),
  token_expired: row(401, 4, false, 'The access token has expired.'),
  token_revoked: row(401, 4, false, 'The access token has been revoked.'),
  session_expired: row(401, 4, false, 'The console session has ended.'),
  sign_in_link_invalid: row(401, 4, false, 'The one-time sign-in link is used up or too old.'),
  cross_site_refused: row(403, 4, false, 'A session was sent from a page that is not the console.'),
  step_up_required: row(403, 4, false, 'This action asks for the access token once more.'),
  scope_missing: row(403, 4, false, 'The access token lacks the scope this call needs.'),
  request_invalid: row(400, 2, false, 'A parameter or the body of the request is not valid.'),
  http_invalid: row(400, 1, false, 'The request is not valid HTTP.'),
  expectation_unknown: row(
    417,
    1,
    false,
    'The Expect header asks for something else than to continue.',
  ),
  host_refused: row(421, 1, false, 'The request names a host for which this is not served.'),
  http_version_unsupported: row(505, 1, false, 'This call needs HTTP/1.1.'),
  json_invalid: row(400, 2, false, 'The body is not valid JSON.'),
  body_encoding_invalid: row(400, 2, false, 'The body cannot be decoded as its headers say.'),
  request_aborted: row(400, 1, true, 'The client hung up before its request was whole.'),
  cursor_invalid: row(400, 2, false, 'The cursor was not made for this list and these filters.'),
  target_invalid: row(400, 2, false, 'The URL is not one that webhooks can be sent to.'),
  target_blocked: row(
    400,
    2,
    false,
    'The URL leads to an address that webhooks may not be sent to.',
  ),
  route_not_found: row(404, 3, false, 'There is no such path or method.'),
  method_not_allowed: row(405, 2, false, 'No path has this method.'),
  token_not_found: row(404, 3, false, 'There is no such token.'),
  session_not_found: row(404, 3, false, 'There is no such session.'),
  link_not_found: row(404, 3, false, 'There is no such download link, or no longer.'),
  record_not_found: row(404, 3, false, 'There is no such record.'),
  endpoint_not_found: row(404, 3, false, 'There is no such webhook endpoint.'),
  incident_not_found: row(404, 3, false, 'There is no such incident.'),
  delivery_not_found: row(404, 3, false, 'There is no such delivery.'),
  retry_job_not_found: row(404, 3, false, 'There is no such bulk re-arm.'),
  segment_not_found: row(404, 3, false, 'No live segment has this object.'),
  move_not_found: row(404, 3, false, 'There is no such move in the journal.'),
  retention_run_not_found: row(404, 3, false, 'There is no such retention run.'),
  verification_not_found: row(404, 3, false, 'There is no such verification.'),
  policy_not_found: row(404, 3, false, 'The tenant has no retention policy of its own.'),
  tag_not_found: row(404, 3, false, 'There is no such tag.'),
  version_not_found: row(404, 3, false, 'There is no such dataset version.'),
  export_not_found: row(404, 3, false, 'There is no such export.'),
  notify_target_not_found: row(404, 3, false, 'There is no such target of notices.'),
  tag_exists: row(409, 6, false, 'This slice is tagged so already.'),
  tags_full: row(409, 6, false, 'The tenant has as many tags as it may have.'),
  dataset_empty: row(409, 6, false, 'No record is tagged so: there is nothing to freeze.'),
  version_name_taken: row(409, 6, false, 'The tenant has a dataset version of this name already.'),
  version_changed: row(409, 6, false, 'Records of the dataset version are not what was frozen.'),
  export_unfinished: row(409, 6, true, 'The export has no file yet.'),
  export_without_file: row(409, 6, false, 'The export ended without a file.'),
  export_file_gone: row(410, 3, false, 'The file of the export was removed.'),
  range_unsatisfiable: row(416, 2, false, 'The file has no such bytes.'),
  tenant_on_hold: row(409, 6, false, 'The tenant is under legal hold.'),
  store_fenced: row(409, 6, false, 'The store of cold data has gone on with another database.'),
  store_read_only: row(
    409,
    6,
    false,
    'This process only reads the store of cold data, as SVC_STORE says.',
  ),
  tenant_busy: row(409, 6, true, 'Data of the tenant is being moved at the moment.'),
  idempotency_conflict: row(409, 6, false, 'The idempotency key was used with another body.'),
  endpoint_disabled: row(409, 6, false, 'The endpoint is disabled.'),
  endpoint_enabled: row(409, 6, false, 'The endpoint is enabled.'),
  delivery_finished: row(409, 6, false, 'The delivery is delivered or discarded already.'),
  retry_job_finished: row(409, 6, false, 'The bulk re-arm has ended already.'),
  body_too_large: row(413, 2, false, 'The body is larger than the limit.'),
  body_mostly_empty: row(413, 2, false, 'The body holds next to nothing but what is no record.'),
  media_type_unsupported: row(415, 2, false, 'The body has a media type this call does not take.'),
  content_encoding_unsupported: row(415, 2, false, 'The body is compressed in an unknown way.'),
  rate_limited: row(
    429,
    5,
    true,
    'The token, or those limited to its tenants, made more requests a minute than they may.',
  ),
  sign_in_limited: row(
    429,
    5,
    true,
    'Too many sign-ins from this address, or tries to confirm this session, failed.',
  ),
  requests_busy: row(429, 5, true, 'The caller has as many requests under way as it may have.'),
  ingest_busy: row(429, 5, true, 'More bytes are being ingested than may be at once.'),
  exports_busy: row(429, 5, true, 'As many exports run as may run at once.'),
  exports_full: row(429, 5, true, 'As many exports of the tenant wait as may wait at once.'),
  overloaded: row(503, 5, true, 'The process works on as many requests as it can at once.'),
  connections_full: row(503, 5, true, 'The service has as many connections as it may have.'),
  internal_error: row(
    500,
    1,
    false,
    'The service made a mistake. The log has it under request_id.',
  ),
  orphan_refused: row(409, 6, false, 'The object cannot be taken back.'),
  segment_whole: row(409, 6, false, 'The object is what was written, and its records can be read.'),
  segment_damaged: row(500, 1, false, 'Cold data is missing or is not what was written.'),
  cold_tier_unavailable: row(503, 5, true, 'Cold data cannot be read or written at the moment.'),
  database_unavailable: row(503, 5, true, 'The database cannot be reached at the moment.'),
  read_only: row(503, 5, true, 'The database only reads at the moment.'),
  database_full: row(503, 5, true, 'The database has no space left to write to.'),
  database_out_of_memory: row(
    503,
    5,
    true,
    'The database has no memory left, or no room in its table of locks.',
  ),
  query_timeout: row(503, 5, true, 'The database took too long to answer.'),
  database_newer: row(503, 5, true, 'The database belongs to a newer release of svcctl.'),
  not_ready: row(503, 5, true, 'The service is starting or stopping.'),

  usage_invalid: row(0, 2, false, 'The command line is not valid.'),
  settings_invalid: row(0, 2, false, 'A setting has a wrong value or is unknown.'),
  service_unreachable: row(0, 5, true, 'The service does not answer.'),
  answer_unexpected: row(0, 1, false, 'The service answered something this command cannot read.'),
  export_mismatch: row(0, 1, false, 'The file received is not what the service announced.'),
  export_failed: row(0, 1, false, 'The export ended without a file.'),
  in_both_datasets: row(0, 6, false, 'Records would be in both datasets.'),
  records_rejected: row(0, 7, false, 'Some records were rejected; the others are stored.'),
  verify_failed: row(0, 1, false, 'The verification found differences.'),
  notice_undelivered: row(0, 1, false, 'The test did not arrive.'),
  problems_found: row(0, 1, false, 'The service has problems.'),
  move_failed: row(0, 1, false, 'A move failed; its source is kept.'),
  backup_incomplete: row(
    0,
    7,
    false,
    'The backup lacks objects that were missing when it was made.',
  ),
  partly_done: row(0, 7, false, 'Some of it was done, the rest was refused.'),
  file_unreadable: row(0, 1, false, 'A file cannot be read or written.'),
  database_unusable: row(
    0,
    1,
    false,
    'The database cannot be used by this version, or on this machine.',
  ),
  database_older: row(
    0,
    1,
    false,
    'The database must be brought up to date by an earlier build of svcctl first.',
  ),
  schema_older: row(0, 7, false, 'The schema of the database is older than this release.'),
  schema_refused: row(0, 6, false, 'This release cannot start on the database.'),
  keys_busy: row(0, 6, true, 'Another rotation of keys is under way.'),
  keys_in_use: row(0, 6, true, 'A process still uses the key.'),
  keys_unknown: row(0, 6, true, 'Some process does not know the new key yet.'),
  backup_not_found: row(0, 3, false, 'There is no whole backup there.'),
  backup_damaged: row(0, 1, false, 'A part of the backup is missing or is not what was written.'),
  backup_older: row(
    0,
    1,
    false,
    'The backup must be restored by an earlier build of svcctl first.',
  ),
  backup_newer: row(0, 1, false, 'The backup was made by a newer release of svcctl.'),
  backup_busy: row(0, 6, true, 'Another backup of this database is under way.'),
  backup_foreign: row(0, 6, false, 'A copy of the database has made backups in this place.'),
  backup_place_unavailable: row(
    0,
    5,
    true,
    'The place of backups cannot be read or written at the moment.',
  ),
  database_not_empty: row(0, 6, false, 'The database to restore into holds something already.'),
  passphrase_wrong: row(0, 4, false, 'The passphrase does not open the secret key in the backup.'),
  interrupted: row(0, 130, false, 'Interrupted.'),
} as const satisfies Record<string, CatalogueRow>;

export type ErrorCode = keyof typeof errorCatalogue;

/** One fault of the input: where it is (`/records/3/tenant`, `?limit`), a stable code, and a sentence. */
export type InputFault = { path: string; code: string; message: string };

export type AppErrorOptions = {
  /** Tells the caller what to do next. It must hold no private data. */
  detail?: string;
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
    super(
      `${code}: ${options.detail ?? errorCatalogue[code].title}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'AppError';
    this.code = code;
    this.detail = options.detail ?? errorCatalogue[code].title;
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

function row(status: number, exit: number, retryable: boolean, title: string): CatalogueRow {
  return { status, exit, retryable, title };
}
