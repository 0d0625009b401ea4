import type { RecordsOverview, Trouble, WorkRow } from '../api/types.ts';
import { dayAfter } from '../ui/days.ts';
import { formatCount } from '../ui/format.ts';
import { stringifySearch } from '../ui/hash-state.ts';
import { jobNames, jobPlace } from '../ui/job-kinds.ts';

/** What is wrong, and where it is mended. A process of the release before says no more than which kind it is. */
export function describeTrouble({ kind, ...told }: Pick<Trouble, 'kind'> & Partial<Trouble>) {
  return { text: told.text ?? kind, href: told.place ?? '#/' };
}

/** A job that has not ended in a few words, and where it is followed: `export TX 41 %`, `bulk retry paused`. */
export function describeWork({ kind, id, state, tenant, done, total }: WorkRow) {
  const share = total === null || total === 0 ? null : Math.min(1, done / total);
  const far = state !== 'running' || share === null ? state : `${Math.floor(100 * share)} %`;
  return {
    name: [jobNames[kind], tenant].filter(Boolean).join(' '),
    far,
    href: jobPlace({ kind, id, tenant }).href,
  };
}

/** How today compares with the same day a week ago: `+3 % on last Sunday`. */
export function describeChange({ today, hours }: RecordsOverview): string {
  const { count, week_ago: before } = today;
  if (before === null) return 'nothing to compare yet';
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

/** A link to what was stored on a day, by UTC; of several tenants to all of them, because a list is of one. */
export function storedHref(day: string, tenants: readonly string[]): string {
  const [tenant, ...others] = tenants;
  if (tenant === undefined || others.length > 0) return '#/records';
  const where = `recorded_at >= "${day}T00:00:00Z" and recorded_at < "${dayAfter(day, 1)}T00:00:00Z"`;
  return `#/records${stringifySearch({ tenant, where })}`;
}
