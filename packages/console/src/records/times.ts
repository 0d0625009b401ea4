import type { Times } from '../ui/day-range.ts';

const time = '"(\\d{4}-\\d\\d-\\d\\dT(?:[01]\\d|2[0-3]):[0-5]\\d:00Z)"';
const ofTimes = new RegExp(
  `^occurred_at >= ${time} and occurred_at < ${time}(?: and \\((.*)\\))?$`,
  's',
);

/**
 * A `where` with these times instead of those that it began with; null removes them. The API filters by whole days, and what
 * is in a record by its time, too: so hours of days are the days with a `where`.
 */
export function withTimes(where: string | undefined, times: Times | null): string | undefined {
  const rest = timesOf(where) === null ? where : ofTimes.exec(where ?? '')?.[3];
  if (times === null) return rest;
  const own = `occurred_at >= "${times.from}" and occurred_at < "${times.to}"`;
  return rest === undefined ? own : `${own} and (${rest})`;
}

/** The times that `withTimes` put before a `where`; null when it begins with none. */
export function timesOf(where: string | undefined): Times | null {
  const [, from, to, rest = ''] = ofTimes.exec(where ?? '') ?? [];
  return from === undefined || to === undefined || !isWhole(rest) ? null : { from, to };
}

/** Whether all that a text closes was opened in it: `a) or (b` stood in no brackets of ours. */
function isWhole(text: string): boolean {
  let depth = 0;
  return [...text.replace(/"(?:[^"\\]|\\.)*"/g, '')].every((letter) => {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0;
    return depth >= 0;
  });
}
