// How numbers and times are printed for people. Pipes get the plain values.

export { formatBytes, formatShare, shellQuote } from '../kernel/values.ts';

/** A duration: `1.9 s`, `12 s`, `3:07`, `1:02:03`. */
export function formatDuration(millis: number): string {
  const seconds = millis / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  return formatClock(millis);
}

/** A duration as a clock: `0:01`, `3:07`, `1:02:03`. */
export function formatClock(millis: number): string {
  const seconds = Math.ceil(millis / 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  const rest = two(seconds % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

const steps = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** How far an RFC 3339 time is from now: "2 h ago", "in 30 d", "now"; `–` for null. */
export function formatRelative(instant: string | null, nowMillis: number): string {
  if (instant === null) return '–';
  const seconds = (Date.parse(instant) - nowMillis) / 1000;
  if (Number.isNaN(seconds)) return instant;
  for (const [unit, size] of steps) {
    const amount = Math.round(Math.abs(seconds) / size);
    // A token that was made a moment ago for 30 d expires in 30 d, not in 29.
    if (Math.abs(seconds) > size * 0.99 && amount >= 1)
      return seconds < 0 ? `${amount} ${unit} ago` : `in ${amount} ${unit}`;
  }
  return 'now';
}

/** An instant as `2001-03-01 00:05:00`, with six digits of a fraction, so that columns are straight, where there is one. The title of the column says UTC. */
export function formatInstant(instant: string): string {
  return instant.replace('T', ' ').replace(/(\.0+)?Z$/, '');
}

/**
 * The zone of the machine, or of TZ, and what writes an instant in it: `2001-03-01 01:05:00 +01:00`. The distance from UTC
 * stands in each, because it changes within a year, and an hour comes twice then.
 */
export function localFormat(env: { readonly TZ?: string | undefined }): {
  zone: string;
  format: (instant: string) => string;
} {
  const parts = partsIn(env.TZ?.replace(/^:/, '') || undefined);
  return {
    zone: parts.resolvedOptions().timeZone,
    format(instant) {
      const millis = Date.parse(instant);
      if (Number.isNaN(millis)) return instant;
      const told = parts.formatToParts(millis).map(({ type, value }) => [type, value]);
      const { year, month, day, hour, minute, second, timeZoneName } = Object.fromEntries(told);
      // Whole, so that the zones behind it stand below each other.
      const [fraction = ''] = /\.(?=0*[1-9])\d*/.exec(instant) ?? [];
      const ahead = timeZoneName.replace('GMT', '') || '+00:00';
      return `${year}-${month}-${day} ${hour}:${minute}:${second}${fraction} ${ahead}`;
    },
  };
}

function partsIn(timeZone: string | undefined): Intl.DateTimeFormat {
  const two = '2-digit';
  const shape = {
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
  } as const;
  const all = { ...shape, hourCycle: 'h23', timeZoneName: 'longOffset' } as const;
  try {
    return new Intl.DateTimeFormat('en', { ...all, timeZone });
  } catch {
    // A TZ that only the C library understands, such as CET-1CEST.
    return new Intl.DateTimeFormat('en', all);
  }
}

/** What is wrong, then the id of what it is about unless the command names it, and the command that mends it. */
export function formatTrouble({ text, id, command }: FormattedTrouble): string {
  return [text, command?.includes(id ?? '') ? null : id, command].filter(Boolean).join(' · ');
}
type FormattedTrouble = { text: string; id: string | null; command: string | null };
