// The closed lists of health, shared by contract, command line and console.

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
export const severities = ['ok', 'warning', 'problem', 'unchecked'] as const;
export type Severity = (typeof severities)[number];

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
