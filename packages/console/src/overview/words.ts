import type { RecordsOverview, Trouble, WorkRow } from '../api/types.ts';
import type { TroubleKind, WorkKind } from '../api/values.ts';
import { formatCount } from '../ui/format.ts';
import { exportHref, panelHref } from '../ui/panel-place.ts';
import { countOf } from '../ui/words.ts';

/** What is wrong in a few words, and where it is mended. */
export function describeTrouble({ kind, count, id }: Trouble): { text: string; href: string } {
  return { text: troubleTexts[kind](count), href: troublePlaces[kind](id ?? '') };
}

const troubleTexts: Readonly<Record<TroubleKind, (count: number) => string>> = {
  verification_differs: (count) => `the last verification found ${countOf(count, 'difference')}`,
  store_unusable: () => 'the store of cold data cannot be used',
  disk_nearly_full: (count) => `${countOf(count, 'disk')} nearly full`,
  backup_overdue: () => 'the last good backup is too old',
  endpoints_failing: (count) => `${countOf(count, 'endpoint')} failing`,
  endpoints_gone: (count) => `${countOf(count, 'endpoint')} gone (410)`,
  endpoints_disabled: (count) => `${countOf(count, 'endpoint')} disabled after failures`,
  deliveries_abandoned: (count) => `${formatCount(count)} abandoned`,
  run_failed: (count) => `the last retention run failed (${countOf(count, 'move')})`,
  verification_failed: () => 'the last verification could not be finished',
  notices_undelivered: (count) => `notices do not reach ${countOf(count, 'target')}`,
};

const verificationHref = (id: string) => panelHref('/retention', { kind: 'verification', id });
const runHref = (id: string) => `#/retention?view=journal&run=${encodeURIComponent(id)}`;

const troublePlaces: Readonly<Record<TroubleKind, (id: string) => string>> = {
  verification_differs: verificationHref,
  store_unusable: () => '#/retention',
  disk_nearly_full: () => '#/access?view=notices',
  backup_overdue: () => '#/access?view=notices',
  endpoints_failing: () => '#/endpoints',
  endpoints_gone: () => '#/endpoints',
  endpoints_disabled: () => '#/endpoints',
  deliveries_abandoned: () => '#/dlq?status=abandoned',
  run_failed: runHref,
  verification_failed: verificationHref,
  notices_undelivered: () => '#/access?view=notices',
};

const workNames: Readonly<Record<WorkKind, string>> = {
  run: 'retention run',
  verification: 'verification',
  export: 'export',
  retry: 'bulk retry',
};

const workPlaces: Readonly<Record<WorkKind, (id: string) => string>> = {
  run: runHref,
  verification: verificationHref,
  export: exportHref,
  retry: () => '#/dlq',
};

/** Work under way in a few words, and where it is followed: `export TX 41 %`, `verification queued`. */
export function describeWork({ kind, id, state, tenant, done, total }: WorkRow) {
  const share = total === null || total === 0 ? null : Math.min(1, done / total);
  const far = state !== 'running' || share === null ? state : `${Math.floor(100 * share)} %`;
  return {
    name: [workNames[kind], tenant].filter(Boolean).join(' '),
    far,
    href: workPlaces[kind](id),
  };
}

/** How today compares with the same day a week ago: `+3 % on last Sunday`. */
export function describeChange({ today, hours }: RecordsOverview): string {
  const { count, week_ago: before } = today;
  if (before === null) return 'compared from next week on';
  // The hours begin a week before today.
  const day = `last ${weekdays[new Date(hours.from).getUTCDay()]}`;
  if (before === 0) return count === 0 ? `none, as ${day}` : `none ${day} until now`;
  const percent = Math.round((100 * (count - before)) / before);
  if (percent === 0) return `as ${day} until now`;
  return `${percent > 0 ? '+' : '−'}${formatCount(Math.abs(percent))} % on ${day} until now`;
}

const weekdays = [
  ...['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'],
] as const;
