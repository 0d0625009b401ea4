// The closed lists of the overview, shared by contract, command line and console.

/** What can be wrong, the worst first. */
export const troubleKinds = [
  'verification_differs',
  'store_unusable',
  'disk_nearly_full',
  'endpoints_failing',
  'endpoints_gone',
  'endpoints_disabled',
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
  disk_nearly_full: (count) => `${numberOf(count, 'disk')} nearly full`,
  endpoints_failing: (count) => `${numberOf(count, 'endpoint')} failing`,
  endpoints_gone: (count) => `${numberOf(count, 'endpoint')} gone (410)`,
  endpoints_disabled: (count) => `${numberOf(count, 'endpoint')} disabled after failures`,
  deliveries_abandoned: (count) => `${count.toLocaleString('en-US')} abandoned`,
  backup_overdue: () => 'a backup is overdue',
  run_failed: (count) => `the last retention run failed (${numberOf(count, 'move')})`,
  verification_failed: () => 'the last verification could not be finished',
  notices_undelivered: (count) => `notices do not reach ${numberOf(count, 'target')}`,
};

function numberOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
