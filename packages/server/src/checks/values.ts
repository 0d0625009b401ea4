// The closed lists of what is wrong and who is told, shared by contract, command line and console.

/** What can be wrong, the worst first, as alerts and the choice of what somebody is told have it. */
const troubleTexts = {
  verification_differs: 'a verification found differences between cold data and its counters',
  store_unusable: 'the store of cold data cannot be used',
  removals_overdue: 'objects that should be gone are still in the store',
  store_waited_for: 'work waits for the store of cold data',
  disk_nearly_full: 'a disk is nearly full',
  endpoints_failing: 'an endpoint fails for an hour',
  endpoints_gone: 'an endpoint is gone (410)',
  endpoints_disabled: 'an endpoint was disabled for its failures',
  endpoints_held: 'deliveries wait for an endpoint that was disabled by hand',
  endpoints_full: 'incidents are held back from an endpoint, because too much waits',
  deliveries_abandoned: 'webhooks were given up after their last attempt',
  schedules_behind: 'a schedule of exports fails or is late',
  backup_overdue: 'a backup is overdue',
  audit_unsealed: 'the audit log is not what was sealed',
  audit_uncopied: 'the audit log cannot be copied',
  approvals_waiting: 'a request waits for somebody else to confirm it',
  exports_large: 'a token or a person has exported much within a day',
  run_failed: 'a retention run failed, or some of its moves did',
  verification_failed: 'a verification could not be finished',
  notices_undelivered: 'notices do not arrive',
} as const;
export type TroubleKind = keyof typeof troubleTexts;
export const troubleKinds = Object.keys(troubleTexts) as TroubleKind[];

type Hours = { delivered: number[]; failed: number[]; abandoned: number[] };
type Seen = {
  records: { count: number } | null;
  webhooks: { abandoned: number; pending: number; hours: Hours } | null;
};

/** Whether there is nothing that could be well or not. */
export function isIdle({ records, webhooks }: Seen): boolean {
  if (records?.count !== 0 || webhooks === null) return records?.count === 0;
  const { delivered, failed, abandoned } = webhooks.hours;
  const tries = [...delivered, ...failed, ...abandoned].reduce((sum, count) => sum + count, 0);
  return tries + webhooks.abandoned + webhooks.pending === 0;
}

/** What is said when all is well: never of what the caller may not see, nor of what is not there. */
export function wellText(seen: Seen): string {
  const { records, webhooks } = seen;
  if (isIdle(seen)) return 'Nothing is stored, and nothing was sent in 48 hours';
  if (records !== null && webhooks !== null) return 'All is well';
  if (records !== null)
    return 'Records and retention are well; webhooks were not looked at: that takes admin';
  return 'Nothing was looked at: that takes enrichment:read';
}

/** How much a notice matters, the least first. */
export const severities = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

/** How bad it can be what a check finds. */
export const checkSeverities = ['warning', 'critical'] as const satisfies readonly Severity[];
export type CheckSeverity = (typeof checkSeverities)[number];

/**
 * What people can be told of: troubles, which begin and end, and what has ended, once. That an endpoint will be disabled,
 * or dead letters purged, is not wrong in itself, but must be told before; that nobody polls, or a key is blocked, may be
 * meant for some hours.
 */
export const noticeTexts = {
  ...troubleTexts,
  endpoints_certificate: 'a certificate of an endpoint ends within 30 days',
  endpoints_unpolled: 'nobody fetches what waits for an endpoint that is polled',
  endpoints_blocked:
    'webhooks wait for an hour behind one that was given up, at an ordered endpoint',
  endpoints_disabling: 'an endpoint will be disabled for its failures',
  dead_letters_expiring: 'abandoned webhooks will be purged for their age',
  export_done: 'an export is done',
  export_failed: 'an export failed',
  audit_head: 'how far the audit log is, each day',
} as const;
export type NoticeKind = keyof typeof noticeTexts;
export const noticeKinds = Object.keys(noticeTexts) as NoticeKind[];

/** What is told of a notice: a trouble that begins, goes on or is over, an event, or a test. */
export const tellings = ['begun', 'reminder', 'over', 'event', 'test'] as const;
export type Telling = (typeof tellings)[number];

/** How a target is told. */
export const targetKinds = ['webhook', 'email'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** How far a message to a target has come: queued also means that it is tried again. */
export const sendStates = ['queued', 'delivered', 'given_up'] as const;
export type SendState = (typeof sendStates)[number];

/**
 * What is known of a process by its heartbeat:
 *
 * - live: it said so within the last 30 seconds.
 * - silent: it has missed beats. It is busy, frozen, gone, or does not reach the database.
 * - gone: it was silent for so long that the database has ended its connections. It was killed, or is frozen.
 */
export const processStates = ['live', 'silent', 'gone'] as const;
type ProcessState = (typeof processStates)[number];

/** What a process runs: `svcctl drain` is there for as long as something is due. */
export const processCommands = ['serve', 'drain'] as const;
export type ProcessCommand = (typeof processCommands)[number];

/** Three beats of ten seconds are missing: a process that is only busy misses one. */
const silentSeconds = 30;
/** The database ends any connection that was silent for 90 s, so nothing of the process is left there. */
const goneSeconds = 120;

/** What a process is that was last heard of so many seconds ago, by the clock of the database. */
export function processStateOf(seconds: number): ProcessState {
  if (seconds < silentSeconds) return 'live';
  return seconds < goneSeconds ? 'silent' : 'gone';
}

/**
 * How bad a finding is:
 *
 * - ok: nothing is wrong.
 * - warning: it works, and somebody should look at it soon.
 * - problem: something does not work, or may be lost.
 * - unchecked: it could not be looked at.
 */
export const findingSeverities = ['ok', 'warning', 'problem', 'unchecked'] as const;
export type FindingSeverity = (typeof findingSeverities)[number];

/** What is checked, by whom each row of a report comes. Those before `processes` are made where the command runs. */
export const checkNames = [
  'service',
  'own_settings',
  'data_folder',
  'own_disk',
  'database',
  'processes',
  'roles',
  'settings',
  'releases',
  'clocks',
  'disks',
  'schema',
  'durability',
  'writes',
  'indexes',
  'connections',
  'locks',
  'transactions',
  'vacuum',
  'statements',
  'store',
  'troubles',
  'notices',
  'leases',
  'counters',
  'runs',
  'backups',
  'tokens',
] as const;
export type CheckName = (typeof checkNames)[number];
