import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import type { RecordKey, Times } from '../queries.ts';
import type { TimeDay } from './queries.ts';

/** The next stretch of time that a scan reads. */
type TimePlan = Times & {
  /** The key directly after all records of the stretch; null when none follow. */
  readonly end: RecordKey | null;
};

/** The next days on which a tier has records, in the order of reading, and the key up to which they reach. */
export type TimeDays = { readonly days: readonly TimeDay[]; readonly end: RecordKey | null };

type TimeOptions = {
  tenant: string;
  after: RecordKey | null;
  descending: boolean;
  /** How many records the stretch should hold. */
  wanted: number;
  /** Whether it ends with a day, and holds the wanted records for sure, if the days have them. */
  isWhole?: boolean;
};

/** Returns the stretch of time from a key that holds about so many records, if days are even; null without any. */
export function planTimes(
  { days, end }: TimeDays,
  { tenant, after, descending, wanted, isWhole = false }: TimeOptions,
): TimePlan | null {
  const at = after === null ? null : beginOf(after, descending);
  const ahead = days
    .map((day) => ({ ...day, start: microsOf(`${day.day}T00:00:00Z`) }))
    .map((day) => ({ ...day, last: day.start + microsPerDay - 1 }))
    .filter(({ start, last }) => at === null || (descending ? start <= at : last >= at));
  const first = ahead[0];
  if (first === undefined) return null;
  const begin = at ?? (descending ? first.last : first.start);
  let before = 0;
  for (const day of ahead) {
    const [own, to] = [microsOf(day.first_at), microsOf(day.last_at)];
    const [from, until] = descending ? [own, Math.min(to, begin)] : [Math.max(own, begin), to];
    const span = Math.max(0, until - from + 1);
    // Nobody knows how many records of the cursor's day come after it.
    const isBegun = at !== null && day.start <= at && day.last >= at;
    const share = isWhole ? (isBegun ? 0 : day.count) : (day.count * span) / (to - own + 1);
    if (before + share >= wanted) {
      const part = isWhole ? 1 : (wanted - before) / share;
      if (descending) return stretch(part >= 1 ? day.start : until - Math.ceil(span * part) + 1);
      return stretch(part >= 1 ? day.last : from + Math.ceil(span * part) - 1);
    }
    before += share;
  }
  const { start, last } = ahead.at(-1) ?? first;
  return { ...stretch(descending ? start : last), end };

  function stretch(edge: number): TimePlan {
    const [from, to] = descending ? [edge, begin] : [begin, edge];
    return {
      first_at: formatMicros(from),
      last_at: formatMicros(to),
      end: edgeOf(tenant, descending ? from : to + 1),
    };
  }
}

/** Returns a key that no record has, directly after the last record of a day in the order of time. */
export function dayEdge(tenant: string, day: string, descending: boolean): RecordKey {
  const start = microsOf(`${day}T00:00:00Z`);
  return edgeOf(tenant, descending ? start : start + microsPerDay);
}

/** No store has an empty name, so all records of that very time come after this key. */
function edgeOf(tenant: string, micros: number): RecordKey {
  return [tenant, '', formatMicros(micros), ''];
}

/** Returns the time at which what follows a key begins. */
function beginOf([, store, at]: RecordKey, descending: boolean): number {
  return descending && store === '' ? microsOf(at) - 1 : microsOf(at);
}

const microsPerDay = 86_400_000_000;

function microsOf(instant: string): number {
  const micros = parseInstant(instant);
  if (micros === null) throw new Error(`${instant} is no time`);
  return micros;
}
