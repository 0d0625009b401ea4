import { type Static, Type } from 'typebox';
import { storeStates } from '../kernel/values.ts';
import {
  dateSchema,
  digestSchema,
  eventIdSchema,
  exactly,
  fits,
  instantSchema,
  nullable,
  oneOf,
  optional,
  remainsSchema,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { erasedIncidentsSchema } from '../webhooks/incidents.contract.ts';
import {
  backupKeyHelp,
  backupKeyStates,
  moveKinds,
  moveStates,
  planKinds,
  problemKinds,
  retentionJobStates,
  segmentStates,
} from './values.ts';

/** Count, bytes and digest of a set of records. Equal triples mean equal sets, which is how copies are proved. */
const tripleProperties = {
  count: Type.Integer({ description: 'records' }),
  bytes: Type.Integer({ description: 'UTF-8 length of the records as NDJSON lines' }),
  digest: digestSchema,
};
export const tripleSchema = Type.Object(tripleProperties);
export type TripleRow = Static<typeof tripleSchema>;

/** A tenant, or `*` for the default that holds for all tenants without a policy of their own. */
export const policyTenantSchema = tenantSchema;

export const policySchema = Type.Object({
  tenant: Type.String({ description: '* = the default' }),
  hot_days: Type.Integer({ description: 'whole days older than this move to the cold tier' }),
  delete_days: nullable(
    Type.Integer({ description: 'whole days older than this are deleted; null = never' }),
  ),
  hold: Type.Boolean({ description: 'legal hold: nothing is moved, merged, deleted or erased' }),
  from_default: Type.Boolean({ description: 'it is the default, for want of an own one' }),
  updated_at: instantSchema,
  updated_by: nullable(
    Type.String({
      description: 'name of the token; null: as installed, or not for the reader to know',
    }),
  ),
});
export type PolicyRow = Static<typeof policySchema>;

/** What a change of a policy may say it goes out from. */
export const ifUpdatedAtSchema = {
  ...instantSchema,
  description:
    '`updated_at` of the policy in force as it was read; when that is another by now, nothing is changed, and the answer is 409 `policy_changed`',
};

/** The body of `PUT /retention/policies/:tenant`. It replaces the whole policy: what is missing gets its default. */
export const policyChangeSchema = exactly({
  hot_days: Type.Integer({ minimum: 0, maximum: 36_500 }),
  delete_days: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 36_500 }))),
  hold: optional.boolean(),
  if_updated_at: Type.Optional(
    nullable({
      ...ifUpdatedAtSchema,
      description: `${ifUpdatedAtSchema.description}; null: the tenant has none of its own`,
    }),
  ),
});

/** How much of a tenant is hot and cold, the policy in force, and its latest move. */
export const tenantStateSchema = Type.Object({
  tenant: Type.String(),
  policy: Type.Object({
    hot_days: Type.Integer(),
    delete_days: nullable(Type.Integer()),
    hold: Type.Boolean(),
    from_default: Type.Boolean(),
  }),
  count: Type.Integer(),
  bytes: Type.Integer(),
  hot_count: Type.Integer(),
  hot_bytes: Type.Integer(),
  cold_count: Type.Integer(),
  cold_bytes: Type.Integer({ description: 'of the cold records, as NDJSON lines' }),
  cold_stored_bytes: Type.Integer({ description: 'of their objects' }),
  segments: Type.Integer({ description: 'live objects' }),
  due: Type.Optional(
    nullable(
      Type.Object(
        { count: Type.Integer(), bytes: Type.Integer(), first_day: dateSchema },
        { description: 'what a run would move and delete now, on order=due; null: nothing' },
      ),
    ),
  ),
  last_move: nullable(
    Type.Object({
      id: Type.String(),
      kind: oneOf(moveKinds),
      state: oneOf(moveStates),
      at: instantSchema,
      error_code: nullable(Type.String()),
    }),
  ),
});
export type TenantStateRow = Static<typeof tenantStateSchema>;

/** What a run would do to a tenant: one row for what becomes cold, one for what is deleted. */
export const planRowSchema = Type.Object({
  tenant: Type.String(),
  kind: oneOf(planKinds, 'move: hot days become cold. delete: whole days go for good'),
  first_day: { ...dateSchema, description: 'of what is done; of what is kept where that is all' },
  last_day: dateSchema,
  count: Type.Integer(),
  bytes: Type.Integer(),
  held: Type.Boolean({ description: 'a legal hold keeps it from being done' }),
  versioned_count: Type.Integer({
    description:
      'records that the policy would delete, on days that dataset versions have: they stay, whatever store they are of, and are in none of the other numbers',
  }),
  versioned_bytes: Type.Integer(),
  versions: Type.Array(Type.String(), {
    description: 'names of the dataset versions that keep them, the first 20',
  }),
});
export type PlanRow = Static<typeof planRowSchema>;
const planSumSchema = Type.Object({
  tenants: Type.Integer(),
  count: Type.Integer(),
  bytes: Type.Integer(),
});
export type PlanSum = Static<typeof planSumSchema>;
export const planTotalsSchema = Type.Object({
  move: planSumSchema,
  delete: planSumSchema,
  held: { ...planSumSchema, description: 'what a legal hold keeps, in neither of the others' },
  versioned: {
    ...planSumSchema,
    description: 'what dataset versions keep from being deleted, in none of the others',
  },
});

/** How much space hot records take on the disk. */
export const hotSpaceSchema = Type.Object({
  size_bytes: Type.Integer({ description: 'what hot records and their index take on the disk' }),
  dead_bytes: Type.Integer({
    description:
      'what of it no hot record needs, by estimate; the end of each run gives it back, as far as no snapshot holds it',
  }),
  snapshot_since: nullable({
    ...instantSchema,
    description: 'since when the oldest snapshot has been open, if for more than a minute',
  }),
});
export type HotSpace = Static<typeof hotSpaceSchema>;
/** How the store of cold data stands to this database. */
const storeProperties = {
  state: oneOf(
    storeStates,
    'own: written and read. elsewhere: it has gone on with another database, this one only reads it. read_only: this process only reads it, as SVC_STORE says. unclaimed: it has no marker, and not the objects that this database knows. unavailable: it cannot be listed or written. unknown: the process has just started',
  ),
  problem: nullable(Type.String({ description: 'what is wrong, and what to do' })),
};
export const coldStoreSummarySchema = Type.Object(storeProperties);
export type StoreSummary = Static<typeof coldStoreSummarySchema>;
export const coldStoreSchema = Type.Object({
  ...storeProperties,
  written_at: nullable({
    ...instantSchema,
    description: 'when a run last wrote or removed, by the clock of its machine',
  }),
  written_by: nullable(
    Type.String({ description: 'name of that machine; null for a token limited to tenants' }),
  ),
  segments: nullable(
    Type.Integer({ description: 'objects that this database knows, on include=missing' }),
  ),
  segments_missing: nullable(
    Type.Integer({
      description:
        'how many of them the store lacks, on include=missing; null for a token limited to tenants',
    }),
  ),
});
export type StoreRow = Static<typeof coldStoreSchema>;

/** A run of retention: what it was asked for, and what it has done so far. */
export const runSchema = Type.Object({
  id: Type.String(),
  state: oneOf(retentionJobStates),
  tenant: nullable(Type.String()),
  before: nullable(dateSchema),
  delete_versioned: Type.Boolean({
    description: 'whether it also deletes what dataset versions would keep',
  }),
  requested_by: nullable(Type.String({ description: 'name of the token; null: the schedule' })),
  requested_at: instantSchema,
  started_at: nullable(instantSchema),
  finished_at: nullable(instantSchema),
  total_count: nullable(
    Type.Integer({
      description: 'records that it found to move or delete; null before it started',
    }),
  ),
  moved_count: Type.Integer({ description: 'records that are cold by it' }),
  moved_bytes: Type.Integer(),
  deleted_count: Type.Integer(),
  kept_count: Type.Integer({
    description: 'records that are due to be deleted and stay, because dataset versions have them',
  }),
  failed_moves: Type.Integer(),
  busy_tenants: Type.Integer({ description: 'passed over: another mover had them' }),
  freed_bytes: Type.Integer({
    description: 'of dead hot space, given back to the disk in its end',
  }),
  waiting_since: nullable(instantSchema),
  waiting_for: nullable(
    Type.String({ description: 'what the store said for which it waits; null: it does not' }),
  ),
  error: nullable(Type.String()),
});
export type RunRow = Static<typeof runSchema>;

/** A move. `source` is what was to be copied, `object` what was read back; both are null until then. */
export const moveSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  run_id: nullable(Type.String()),
  kind: oneOf(moveKinds),
  state: oneOf(moveStates),
  first_day: dateSchema,
  last_day: dateSchema,
  source: nullable(tripleSchema),
  object: nullable({
    ...tripleSchema,
    description: 'of the written objects, read back and computed from content',
  }),
  gone: { ...tripleSchema, description: 'what went for good: by policy or erasure' },
  stored_bytes: nullable(Type.Integer({ description: 'size of the new objects' })),
  segments_in: Type.Integer({ description: 'objects that it replaces' }),
  segments_out: Type.Integer({ description: 'objects that it writes' }),
  planned_at: instantSchema,
  copied_at: nullable(instantSchema),
  verified_at: nullable(instantSchema),
  switched_at: nullable(instantSchema),
  removed_at: nullable(instantSchema),
  failed_at: nullable(instantSchema),
  failed_in: nullable(oneOf(moveStates)),
  error_code: nullable(Type.String()),
  error: nullable(Type.String()),
});
export type MoveRow = Static<typeof moveSchema>;

/** An object of the store. Of one that was replaced, only its key and when it goes are known. */
export const segmentSchema = Type.Object({
  tenant: Type.String(),
  object_key: Type.String({ description: 'below the folder or prefix of the store' }),
  state: oneOf(segmentStates),
  first_day: nullable(dateSchema),
  last_day: nullable(dateSchema),
  count: nullable(Type.Integer({ description: 'records' })),
  bytes: nullable(Type.Integer({ description: 'UTF-8 length of the records as NDJSON lines' })),
  digest: nullable(digestSchema),
  size_bytes: nullable(Type.Integer({ description: 'of the object' })),
  sha256: nullable(Type.String({ description: 'of the object' })),
  remove_after: nullable(instantSchema),
});
export type SegmentRow = Static<typeof segmentSchema>;

/** A difference that a verification found. Fields are null where the problem is not about a single one of these. */
const verifyProblemSchema = Type.Object({
  kind: oneOf(problemKinds),
  tenant: nullable(Type.String()),
  object_key: nullable(Type.String()),
  store: nullable(Type.String()),
  first_day: nullable(dateSchema),
  last_day: nullable(dateSchema),
  message: Type.String({ description: 'what differs, and what to do' }),
});
export type VerifyProblem = Static<typeof verifyProblemSchema>;

/** A verification: its progress while it runs, its report afterwards. */
export const verificationSchema = Type.Object({
  id: Type.String(),
  state: oneOf(retentionJobStates),
  ok: nullable(Type.Boolean({ description: 'null until it has completed' })),
  tenant: nullable(Type.String()),
  since: nullable({
    ...instantSchema,
    description: 'only what was not found right since then; null: all',
  }),
  sample_percent: nullable(Type.Number({ description: 'of the segments and counters; null: all' })),
  requested_by: nullable(Type.String({ description: 'name of the token; null: the schedule' })),
  requested_at: instantSchema,
  started_at: nullable(instantSchema),
  finished_at: nullable(instantSchema),
  segments_total: nullable(Type.Integer()),
  segments_done: Type.Integer(),
  bytes_total: nullable(Type.Integer()),
  bytes_done: Type.Integer(),
  records_done: Type.Integer({ description: 'records read back from objects' }),
  problem_count: Type.Integer(),
  problems: Type.Array(verifyProblemSchema, { description: 'the first 1,000' }),
  waiting_since: nullable(instantSchema),
  waiting_for: nullable(
    Type.String({ description: 'what the store said for which it waits; null: it does not' }),
  ),
  error: nullable(Type.String()),
});
export type VerificationRow = Static<typeof verificationSchema>;

const eraseScopeProperties = {
  incidents: optional.boolean({
    description:
      'also the incidents that occurred on these days; with event_ids those whose payload or idempotency key has one of the ids, and with a subject those that have its value or the id of one of its events',
  }),
  tenant: tenantSchema,
  store: Type.Optional(storeSchema),
  event_ids: Type.Optional(
    Type.Array(eventIdSchema, { minItems: 1, maxItems: 10_000, uniqueItems: true }),
  ),
  subject: Type.Optional(
    exactly({
      field: Type.String({
        minLength: 1,
        maxLength: 500,
        description: 'a key of the enrichment, as where= names it: passenger.email',
      }),
      value: Type.String({
        minLength: 1,
        maxLength: 1000,
        description:
          'the text that stands there, or in the array there; or the number of this spelling',
      }),
    }),
  ),
  from: Type.Optional({
    ...dateSchema,
    description:
      'a date such as 2026-03-05, up to 2999-12-31: the first day, inclusive; needs `to`',
  }),
  to: Type.Optional({
    ...dateSchema,
    description:
      'a date such as 2026-03-05, up to 2999-12-31: the last day, inclusive; needs `from`',
  }),
};

/** The body of `POST /enrichment/erase/plan`. See `toScope` for the combinations that are refused. */
export const erasePlanSchema = exactly(eraseScopeProperties);

/** The body of `POST /enrichment/erase`. */
export const eraseRequestSchema = exactly({
  ...eraseScopeProperties,
  reason: optional.string({
    minLength: 1,
    maxLength: 500,
    pattern: '^[^\\u0000-\\u001f\\ud800-\\udfff]*$',
    [fits]: 'one line of text, without control characters',
    description:
      'why, as a ticket says it: the receipt and the audit log keep it, so it should name nobody',
  }),
  dry_run: optional.boolean({ description: 'only tells what would go' }),
});
export type EraseRequest = Static<typeof eraseRequestSchema>;

const namedSchema = (description: string) =>
  Type.Array(Type.Object({ id: Type.String(), name: Type.String() }), { description });

/** The receipt of an erasure. It proves what was erased, and says where copies of it may still be. */
export const eraseReceiptSchema = Type.Object({
  id: nullable(
    Type.String({
      description:
        'by which it is read again: that of the move in the journal, or, where no record was found, one of its own (ers_…); null for a dry run',
    }),
  ),
  dry_run: Type.Boolean(),
  state: nullable(oneOf(moveStates)),
  tenant: Type.String(),
  store: nullable(Type.String()),
  from: nullable(dateSchema),
  to: nullable(dateSchema),
  erased: { ...tripleSchema, description: 'records that went, or would go' },
  hot_count: Type.Integer(),
  cold_count: Type.Integer(),
  segments_rewritten: Type.Integer(),
  not_found: Type.Array(Type.String(), {
    description: 'event ids without a record, the first 1,000; none when it is read again',
  }),
  not_found_count: Type.Integer({ description: 'how many event ids have no record' }),
  reason: nullable(Type.String({ description: 'as it was asked for; null: none was given' })),
  requested_at: instantSchema,
  erased_at: nullable({
    ...instantSchema,
    description:
      'since when no read finds them; null: not yet, see the move; and with no `state` either, they were not begun',
  }),
  objects_removed_after: nullable({
    ...instantSchema,
    description: 'when the replaced objects are removed from the store',
  }),
  tags_removed: Type.Integer({ description: 'tags that lay wholly on erased days' }),
  versions_changed: Type.Integer({
    description:
      'dataset versions that may have lost records, by their days, and are counted again, or lost all of them and are gone',
  }),
  versions: namedSchema('which, the first 100; each tells what is left of it once it is counted'),
  exports_removed: Type.Integer({ description: 'jobs whose file may have held some: it is gone' }),
  exports: namedSchema('which these are, by the names of their files, the first 100'),
  counts_ended: Type.Integer({ description: 'counts under way that may have some: they failed' }),
  counts: namedSchema('which these are, by who asked for them, the first 100'),
  incidents: nullable({
    ...erasedIncidentsSchema,
    description:
      'what was erased of incidents so far, also where that broke off; null: they were not asked for, or none could go yet',
  }),
  backup_key: nullable(oneOf(backupKeyStates, backupKeyHelp)),
  remains: remainsSchema,
});
export type EraseReceipt = Static<typeof eraseReceiptSchema>;
export type EraseRemain = EraseReceipt['remains'][number];

/** The last verification that ended. */
const lastVerificationSchema = Type.Object({
  id: Type.String(),
  ok: nullable(Type.Boolean({ description: 'null: it could not be finished' })),
  problem_count: Type.Integer(),
  segments_total: nullable(Type.Integer()),
  finished_at: nullable(instantSchema),
});
const lastRunSchema = Type.Object({
  id: Type.String(),
  ok: Type.Boolean({ description: 'false: it failed, or moves of it did' }),
  failed_moves: Type.Integer(),
  moved_count: Type.Integer(),
  finished_at: nullable(instantSchema),
});
export const retentionOverviewSchema = Type.Object({
  verification: nullable(lastVerificationSchema),
  run: nullable(lastRunSchema),
});
export type RetentionOverview = Static<typeof retentionOverviewSchema>;
