import { createGate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type ColdReader, readSliceSample } from '../../records/index.ts';
import type { TypedSchema } from '../jobs.contract.ts';
import { findVersionSchema } from '../queries.ts';
import type { Selection } from '../select.ts';
import { ColumnInference } from './infer-columns.ts';

export type FindSchema = (selection: Selection) => Promise<TypedSchema>;

const size = { records: 10_000, places: 40, mostPlaces: 200, keysEach: 10 };
const textBytes = 16 * 2 ** 20;
/** At most so many are inferred at once; each takes some 60 MB, and half a second of this process. */
const atOnce = 2;
const recordsATurn = 500;

/**
 * Makes what finds the columns of typed exports: those that the version has kept, or inferred from a sample of the
 * records. Of a slice its kind is looked at if the sample has it, its `where` never. Throws 500 `segment_damaged`, 503
 * `cold_tier_unavailable`.
 */
export function createSchemaFinder(tiers: { db: Database; cold: ColdReader }): FindSchema {
  const gate = createGate(atOnce);
  return async ({ slice, version }) => {
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
      const inference = new ColumnInference();
      let sampled = 0;
      for (const { enrichment } of own.length === 0 ? records : own) {
        if (enrichment === null) continue;
        inference.add(enrichment);
        sampled += 1;
        // This process answers others meanwhile.
        if (sampled % recordsATurn === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return { ...inference.columns(), sampled, count };
    });
  };
}
