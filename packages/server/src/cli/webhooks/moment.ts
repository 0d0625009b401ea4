import { AppError } from '../../kernel/errors.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';

const unitMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time that an option gives: RFC 3339, a day (`edge` says which end of it), or a span ago such as 2h.
 * Throws `usage_invalid`.
 */
export function moment(
  flag: string,
  text: string | undefined,
  { nowMs, edge }: { nowMs: number; edge: 'first' | 'last' },
): string | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return formatMicros((nowMs - Number(amount) * (unitMs[unit] ?? 0)) * 1000);
  }
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const time = isDay
    ? `${text}T${edge === 'first' ? '00:00:00.000000' : '23:59:59.999999'}Z`
    : text;
  if (parseInstant(time) !== null) return time;
  throw new AppError('usage_invalid', {
    detail: `${flag}: "${text}" is neither a time such as 2026-03-05T14:00:00Z, nor a day, nor a span ago such as 2h.`,
  });
}
