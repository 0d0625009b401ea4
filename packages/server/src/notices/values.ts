// The closed lists of notices, shared by contract, command line and console.
import { troubleKinds } from '../overview/values.ts';

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
