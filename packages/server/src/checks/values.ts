// The closed lists of what is wrong and who is told, shared by contract, command line and console.

/** What can be wrong, the worst first. */
export const troubleKinds = [
  'verification_differs',
  'store_unusable',
  'removals_overdue',
  'store_waited_for',
  'disk_nearly_full',
  'endpoints_failing',
  'endpoints_gone',
  'endpoints_disabled',
  'endpoints_held',
  'deliveries_abandoned',
  'backup_overdue',
  'run_failed',
  'verification_failed',
  'notices_undelivered',
] as const;
export type TroubleKind = (typeof troubleKinds)[number];

/** Each of them in a few words, by how many there are. */
export const troubleTexts: Readonly<Record<TroubleKind, (count: number) => string>> = {
  verification_differs: (count) => `the last verification found ${numberOf(count, 'difference')}`,
  store_unusable: () => 'the store of cold data cannot be used',
  removals_overdue: (count) =>
    `${numberOf(count, 'object')} ${count === 1 ? 'is' : 'are'} still in the store that should have been removed`,
  store_waited_for: (count) =>
    `${count === 1 ? 'a run, verification or export waits' : `${count.toLocaleString('en-US')} runs, verifications or exports wait`} for the store of cold data`,
  disk_nearly_full: (count) => `${numberOf(count, 'disk')} nearly full`,
  endpoints_failing: (count) => `${numberOf(count, 'endpoint')} failing`,
  endpoints_gone: (count) => `${numberOf(count, 'endpoint')} gone (410)`,
  endpoints_disabled: (count) => `${numberOf(count, 'endpoint')} disabled after failures`,
  endpoints_held: (count) => `${numberOf(count, 'endpoint')} disabled by hand, with a backlog`,
  deliveries_abandoned: (count) => `${count.toLocaleString('en-US')} abandoned`,
  backup_overdue: () => 'a backup is overdue',
  run_failed: (count) => `the last retention run failed (${numberOf(count, 'move')})`,
  verification_failed: () => 'the last verification could not be finished',
  notices_undelivered: (count) => `notices do not reach ${numberOf(count, 'target')}`,
};

/** What is said when nothing is wrong: of what the caller may not see, nobody has looked. */
export function wellText({ records, webhooks }: { records: unknown; webhooks: unknown }): string {
  if (records !== null && webhooks !== null) return 'All is well';
  if (records !== null)
    return 'Records and retention are well; webhooks were not looked at: that takes admin';
  return 'Nothing was looked at: that takes enrichment:read';
}

function numberOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

/** How much a notice matters, the least first. */
export const severities = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

/** What is told once: what has ended, and each day how far the audit log is. */
export const eventKinds = ['export_done', 'export_failed', 'audit_head'] as const;
export type EventKind = (typeof eventKinds)[number];

/**
 * What people can be told of: troubles, which begin and end, and events. That an endpoint will be disabled is not wrong
 * in itself, but must be told before.
 */
export const noticeKinds = [...troubleKinds, 'endpoints_disabling', ...eventKinds] as const;
export type NoticeKind = (typeof noticeKinds)[number];

/** What is told of a notice: a trouble that begins, goes on or is over, an event, or a test. */
export const tellings = ['begun', 'reminder', 'over', 'event', 'test'] as const;
export type Telling = (typeof tellings)[number];

/** How a target is told. */
export const targetKinds = ['webhook', 'email'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** How far a message to a target has come: queued also means that it is tried again. */
export const sendStates = ['queued', 'delivered', 'given_up'] as const;
export type SendState = (typeof sendStates)[number];

/** How a kind of notice is told. */
type NoticeRule = {
  readonly severity: Severity;
  /** A trouble is told when it has lasted for so long: what passes by itself is not worth a call at night. */
  readonly holdSeconds: number;
  /** Whether it is told again each day for as long as it lasts. */
  readonly isRepeated: boolean;
};

export const noticeRules: Readonly<Record<NoticeKind, NoticeRule>> = {
  verification_differs: rule('critical', 0),
  store_unusable: rule('critical', 300),
  removals_overdue: rule('critical', 300),
  store_waited_for: rule('warning', 300),
  disk_nearly_full: rule('critical', 300),
  backup_overdue: rule('warning', 0),
  // It has failed for an hour when it is found.
  endpoints_failing: rule('warning', 0),
  // Somebody has to decide, but nothing gets worse.
  endpoints_gone: rule('warning', 0, false),
  endpoints_disabling: rule('warning', 3600),
  endpoints_disabled: rule('warning', 0, false),
  // Whoever has disabled it knows it; a day later it may be forgotten.
  endpoints_held: rule('warning', 86_400, false),
  deliveries_abandoned: rule('warning', 300),
  run_failed: rule('warning', 0),
  verification_failed: rule('warning', 0),
  notices_undelivered: rule('warning', 0),
  export_done: rule('info', 0),
  export_failed: rule('warning', 0),
  audit_head: rule('info', 0),
};

function rule(severity: Severity, holdSeconds: number, isRepeated = true): NoticeRule {
  return { severity, holdSeconds, isRepeated };
}

/**
 * What is known of a process by its heartbeat:
 *
 * - live: it said so within the last 30 seconds.
 * - silent: it has missed beats. It is busy, frozen, gone, or does not reach the database.
 * - gone: it was silent for so long that the database has ended its connections. It was killed, or is frozen.
 */
export const processStates = ['live', 'silent', 'gone'] as const;
export type ProcessState = (typeof processStates)[number];

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
  'leases',
  'counters',
  'runs',
  'backups',
] as const;
export type CheckName = (typeof checkNames)[number];
