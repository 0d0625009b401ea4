import fc from 'fast-check';
import { expect } from 'vitest';
import { useTestDatabase } from '../../../../test/database.ts';
import { useColdStore } from '../../read/testing/cold-store.ts';
import { freeze } from '../../read/testing/freeze.ts';
import { bothTiers, ingest, page } from '../../read/testing/walk.ts';
import { readStored } from '../../tail/read-stored.ts';
import { parseWhere } from '../parse.ts';
import { arbitraryRecords, arbitraryWhere } from './arbitrary-where.ts';
import { evaluate } from './evaluate.ts';

/** Stores records, and answers what each `where` finds of them, after a comparison. */
export type Compare = (
  tenant: string,
  sent: readonly string[],
  wheres: readonly string[],
) => Promise<string[][]>;

/** Of a database of their own: PostgreSQL, DuckDB and an evaluator of few lines agree on which records fit. */
export function useComparison(): Compare {
  const db = useTestDatabase();
  const cold = useColdStore();
  const records = bothTiers(db, cold);

  /** Ingests records and returns them as they are stored. */
  async function store(tenant: string, texts: readonly string[]) {
    await ingest(db, cold, [texts]);
    const { rows } = await records.scan(
      { tenant, tenants: null },
      { after: null, descending: false, limit: 500 },
    );
    return rows;
  }

  /** Returns each `where` with the ids of the records that it finds. */
  async function findEach(tenant: string, wheres: readonly string[]): Promise<string[][]> {
    const all: string[][] = [];
    for (const where of wheres) {
      const { data } = await page(records, { tenant, where, limit: 500 });
      all.push([where, ...data.map(({ event_id }) => event_id)]);
    }
    return all;
  }

  /** Returns each `where` with the ids of the records that a tail tells. */
  async function followEach(tenant: string, wheres: readonly string[]): Promise<string[][]> {
    const all: string[][] = [];
    for (const where of wheres) {
      const slice = { tenant, where, tenants: null };
      const { rows } = await readStored({ db, records }, slice, ['2000-01-01T00:00:00.000000Z']);
      all.push([where, ...rows.map(({ record }) => record.event_id)]);
    }
    return all;
  }

  /** Compares what each `where` finds in either tier, and in a tail, with what the evaluator says. */
  return async (tenant, sent, wheres) => {
    const rows = await store(tenant, sent);
    expect(rows).toHaveLength(sent.length);
    const expected = wheres.map((where) => {
      const tree = parseWhere(where);
      return [where, ...rows.filter((row) => evaluate(tree, row)).map(({ event_id }) => event_id)];
    });
    expect(await findEach(tenant, wheres)).toEqual(expected);
    expect(await followEach(tenant, wheres)).toEqual(expected);
    expect(await freeze(db, cold, { tenant, id: `seg_${tenant}` })).toBe(true);
    expect(await findEach(tenant, wheres)).toEqual(expected);
    return expected;
  };
}

/**
 * Compares for so many sets of random records, each with 25 random wheres. Answers how many of these found some and not
 * all: a property about nothing would hold, too.
 */
export async function compareRandom(compare: Compare, numRuns: number): Promise<number> {
  let run = 0;
  let found = 0;
  await fc.assert(
    fc.asyncProperty(
      arbitraryRecords,
      fc.array(arbitraryWhere, { minLength: 25, maxLength: 25 }),
      async (makeRecords, wheres) => {
        const tenant = `T${++run}`;
        const sent = makeRecords(tenant);
        const all = await compare(tenant, sent, wheres);
        found += all.filter(({ length }) => length > 1 && length <= sent.length).length;
      },
    ),
    { numRuns },
  );
  return found;
}
