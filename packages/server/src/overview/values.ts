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
