import { formatCount } from '../../ui/format.ts';

export type PageRange = {
  rows: number;
  hasNext: boolean;
  /** Records before this page. */
  at: number;
  /** False for a page that was opened by its cursor alone. */
  isAtKnown: boolean;
  /** Records in all; null with filters, whose matches nobody counts. */
  total: number | null;
};

/** Such as `1–100 of 27,162`. */
export function rangeText({ rows, hasNext, at, isAtKnown, total }: PageRange): string {
  if (rows === 0) return hasNext ? 'no match in this stretch, NEXT reads on' : '0 rows';
  if (!isAtKnown) return `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  const range = `${formatCount(at + 1)}–${formatCount(at + rows)}`;
  return total === null ? range : `${range} of ${formatCount(total)}`;
}
