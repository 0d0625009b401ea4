import { createGate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type ColdReader, readSliceSample } from '../../records/index.ts';
import type { FoundSchema, RowCounts } from '../jobs.contract.ts';
import { findVersionSchema } from '../queries.ts';
import type { Selection } from '../select.ts';
import type { FieldColumn } from '../values.ts';
import { ColumnInference } from './infer-columns.ts';
import { RowCounter } from './row-counter.ts';
import { createTaker } from './take-apart.ts';

/** With `countsMisfits` a schema that is inferred tells how many records of the sample do not fit it. */
export type FindSchema = (
  selection: Selection,
  options?: { countsMisfits?: boolean },
) => Promise<FoundSchema>;

const usualSize = { records: 10_000, places: 40, mostPlaces: 200, keysEach: 10 };
const textBytes = 16 * 2 ** 20;
/** At most so many are inferred at once; each takes some 60 MB, and half a second of this process. */
const atOnce = 2;
const recordsATurn = 500;

/**
 * Makes what finds the columns of typed exports: those that the version has kept, or inferred from a sample of the
 * records. Of a slice its kind is looked at if the sample has it, its `where` never. Throws 500 `segment_damaged`, 503
 * `cold_tier_unavailable`.
 */
export function createSchemaFinder(
  tiers: { db: Database; cold: ColdReader },
  size = usualSize,
): FindSchema {
  const gate = createGate(atOnce);
  return async ({ slice, version }, { countsMisfits = false } = {}) => {
    const { tenant, kind, tenants } = slice;
    const kept = version && (await findVersionSchema(tiers.db, { tenant, id: version.id }));
    if (kept) return kept;
    if (tenants !== null && !tenants.includes(tenant)) {
      return { columns: [], sampled: 0, count: 0, left_out: 0 };
    }
    return gate.run(async () => {
      // What only records tell is left out: the tiers pick a sample differently by it.
      const { store, from, until, dataset, tags } = slice;
      const whole = { tenant, store, from, until, dataset, tags, tenants };
      const { count, records } = await readSliceSample(tiers, whole, { size, textBytes });
      const own = records.filter((record) => kind === undefined || record.kind === kind);
      // Of hot records only about as many are found as are asked for.
      const texts = (own.length === 0 ? records : own)
        .flatMap(({ enrichment }) => enrichment ?? [])
        .slice(0, size.records);
      const inference = new ColumnInference();
      await inTurns(texts, (text) => inference.add(text));
      const inferred = inference.columns();
      return {
        ...inferred,
        sampled: texts.length,
        count,
        ...(countsMisfits && { misfits: await misfitsIn(texts, inferred.columns) }),
      };
    });
  };
}

/** Works on texts one after another. This process answers others meanwhile. */
async function inTurns(texts: readonly string[], work: (text: string) => void): Promise<void> {
  for (const [n, text] of texts.entries()) {
    work(text);
    if ((n + 1) % recordsATurn === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function misfitsIn(
  texts: readonly string[],
  columns: readonly FieldColumn[],
): Promise<RowCounts> {
  const misfits = new RowCounter();
  const take = createTaker(columns, (field) => misfits.add(field));
  await inTurns(texts, (text) => {
    const { isOdd, rest } = take(text);
    misfits.addRow(isOdd, rest !== null);
  });
  return misfits.counts();
}
