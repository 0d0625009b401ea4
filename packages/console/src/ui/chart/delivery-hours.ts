import type { DeliveryHours } from '../../api/types.ts';
import { dayAfter } from '../days.ts';
import { formatInstant, type Zone } from '../format.ts';
import { lazyPiece } from '../lazy-part.tsx';
import { countOf } from '../words.ts';
import type { Bar, Series } from './bar-picture.tsx';

// A young installation has no pictures yet, and whoever looks at figures need not wait for them.
export const Bars = lazyPiece('Bars', () => import('./bars.tsx'));

/** What becomes of attempts, as the parts of the bars of hours. */
export const attemptSeries: readonly Series[] = [
  { name: 'delivered', tone: 'ok' },
  { name: 'failed', tone: 'failed' },
  { name: 'abandoned', tone: 'abandoned' },
];

export const sayAttempts = (count: number) => countOf(count, 'attempt');

const hourMillis = 3_600_000;

/** The bars of hours, named by the time at which each begins. */
export function barsOfHours(hours: DeliveryHours, zone: Zone): Bar[] {
  return hours.delivered.map((delivered, at) => {
    const start = new Date(Date.parse(hours.from) + at * hourMillis).toISOString();
    return {
      name: formatInstant(start, zone).slice(0, 16),
      parts: [delivered, hours.failed[at] ?? 0, hours.abandoned[at] ?? 0],
    };
  });
}

/** The day by UTC of an hour that is named in a zone, as both days of a filter. */
export function dayOf(hour: string, zone: Zone) {
  const day = dayAfter(`${hour.replace(' ', 'T')}${zone === 'utc' ? 'Z' : ''}`, 0);
  return { from: day, to: day };
}
