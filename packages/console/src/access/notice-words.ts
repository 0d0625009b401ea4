import type { NotifyTarget } from '../api/types.ts';
import { noticeTexts, type SendState, type Severity } from '../api/values.ts';

/** Where a target is. */
export function addressOf({ url, to }: Pick<NotifyTarget, 'url' | 'to'>): string {
  return url ?? to ?? '';
}

/** What a target is told of. */
export function kindsText({ kinds }: Pick<NotifyTarget, 'kinds'>): string {
  return kinds === null ? 'everything' : kinds.map((kind) => noticeTexts[kind]).join(', ');
}

type Tone = 'ok' | 'danger' | 'muted';

export const sendTexts: Readonly<Record<SendState, { text: string; tone: Tone }>> = {
  queued: { text: 'being sent', tone: 'muted' },
  delivered: { text: 'arrived', tone: 'ok' },
  given_up: { text: 'failed', tone: 'danger' },
};

export const severityTexts: Readonly<Record<Severity, { tone: Tone; isLoud: boolean }>> = {
  info: { tone: 'muted', isLoud: false },
  warning: { tone: 'muted', isLoud: true },
  critical: { tone: 'danger', isLoud: true },
};
