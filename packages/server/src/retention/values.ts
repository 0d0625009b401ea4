// The closed lists of RETENTION. Contract, command line and console all take them from here, so this file
// carries no schema code: it costs the command line no start-up time and the console no bytes.

export const moveKinds = ['move', 'compact', 'delete', 'erase'] as const;
export type MoveKind = (typeof moveKinds)[number];

/** What the plan announces, by policy: hot days become cold, whole days go for good. */
export const planKinds = ['move', 'delete'] as const;

/** The arrows of the journal, in order. */
export const arrows = ['planned', 'copied', 'verified', 'switched', 'removed'] as const;
export type Arrow = (typeof arrows)[number];

/** The arrows, and the end that is none of them. */
export const moveStates = [...arrows, 'failed'] as const;
export type MoveState = (typeof moveStates)[number];

/** A move in one of these has changed nothing that a read sees: it may still fail without loss. */
export const statesBeforeSwitch: readonly MoveState[] = ['planned', 'copied', 'verified'];

/** Of runs and verifications. */
export const retentionJobStates = ['queued', 'running', 'completed', 'failed'] as const;
export type RetentionJobState = (typeof retentionJobStates)[number];

/** What a verification may find. */
export const problemKinds = [
  'object_missing',
  'object_size',
  'object_damaged',
  'object_orphan',
  'upload_unfinished',
  'triple_mismatch',
  'counter_mismatch',
  'order_mismatch',
] as const;
export type ProblemKind = (typeof problemKinds)[number];

/** Where erased records may still be. hot_pages: in PostgreSQL's files. ids: event ids alone. */
export const remainKinds = ['hot_pages', 'ids', 'wal', 'objects', 'backups'] as const;
