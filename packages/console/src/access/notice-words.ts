import type { NotifyTarget } from '../api/types.ts';
import type { NoticeKind, SendState, Severity } from '../api/values.ts';

/** Where a target is. */
export function addressOf({ url, to }: Pick<NotifyTarget, 'url' | 'to'>): string {
  return url ?? to ?? '';
}

/** What a target is told of. */
export function kindsText({ kinds }: Pick<NotifyTarget, 'kinds'>): string {
  return kinds === null ? 'everything' : kinds.map((kind) => kindTexts[kind]).join(', ');
}

export const kindTexts: Readonly<Record<NoticeKind, string>> = {
  verification_differs: 'a verification found differences',
  store_unusable: 'the store of cold data cannot be used',
  removals_overdue: 'objects that should be gone are still in the store',
  store_waited_for: 'work waits for the store of cold data',
  disk_nearly_full: 'a disk is nearly full',
  backup_overdue: 'a backup is overdue',
  endpoints_failing: 'an endpoint fails for an hour',
  endpoints_gone: 'an endpoint is gone (410)',
  endpoints_disabled: 'an endpoint was disabled for its failures',
  endpoints_held: 'deliveries wait for an endpoint that was disabled by hand',
  deliveries_abandoned: 'many dead letters',
  run_failed: 'a retention run failed',
  verification_failed: 'a verification could not be finished',
  notices_undelivered: 'notices do not arrive',
  endpoints_disabling: 'an endpoint will be disabled for its failures',
  export_done: 'an export is done',
  export_failed: 'an export failed',
  audit_head: 'how far the audit log is, each day',
};

type Tone = 'ok' | 'differs' | 'none';

export const sendTexts: Readonly<Record<SendState, { text: string; tone: Tone }>> = {
  queued: { text: 'being sent', tone: 'none' },
  delivered: { text: 'arrived', tone: 'ok' },
  given_up: { text: 'failed', tone: 'differs' },
};

export const severityTexts: Readonly<Record<Severity, { tone: Tone; isLoud: boolean }>> = {
  info: { tone: 'none', isLoud: false },
  warning: { tone: 'none', isLoud: true },
  critical: { tone: 'differs', isLoud: true },
};
