import type { RowCounts } from '../jobs.contract.ts';

/** Counts rows, and what was found in them by its field. */
export class RowCounter {
  rows = 0;
  #nulls = 0;
  readonly #fields = new Map<string, number>();

  add(field: string, count = 1): void {
    this.#fields.set(field, (this.#fields.get(field) ?? 0) + count);
  }

  /** Counts a row with a rest: by itself where that has nothing but nulls. */
  addRow(isOdd: boolean, hasRest: boolean): void {
    if (isOdd) this.rows += 1;
    else if (hasRest) this.#nulls += 1;
  }

  addCounts({ rows, nulls = 0, fields }: RowCounts): void {
    this.rows += rows;
    this.#nulls += nulls;
    for (const [field, count] of Object.entries(fields)) this.add(field, count);
  }

  counts(): RowCounts {
    const fields = Object.fromEntries(this.#fields);
    return { rows: this.rows, ...(this.#nulls > 0 && { nulls: this.#nulls }), fields };
  }
}

/** The counts of all parts of a file together. */
export function sumCounts(parts: readonly RowCounts[]): RowCounts {
  const sum = new RowCounter();
  for (const part of parts) sum.addCounts(part);
  return sum.counts();
}
