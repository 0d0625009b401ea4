// The closed lists of the overview, shared by contract, command line and console.

import { numberOf } from '../kernel/values.ts';

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
