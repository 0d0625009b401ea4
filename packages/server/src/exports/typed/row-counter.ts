import type { RowCounts } from '../jobs.contract.ts';

/** Counts rows, and what was found in them by its field. */
export class RowCounter {
  rows = 0;
  readonly #fields = new Map<string, number>();

  add(field: string, count = 1): void {
    this.#fields.set(field, (this.#fields.get(field) ?? 0) + count);
  }

  counts(): RowCounts {
    return { rows: this.rows, fields: Object.fromEntries(this.#fields) };
  }
}

/** The counts of all parts of a file together. */
export function sumCounts(parts: readonly RowCounts[]): RowCounts {
  const sum = new RowCounter();
  for (const { rows, fields } of parts) {
    sum.rows += rows;
    for (const [field, count] of Object.entries(fields)) sum.add(field, count);
  }
  return sum.counts();
}
