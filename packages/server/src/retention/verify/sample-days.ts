import type { Database } from '../../platform/postgres/database.ts';
import { listWrongDays, sampleDays } from './counter-queries.ts';

/** What is looked at: a few tenants, and a few days of each, none of them with more hot records than this. */
const sample = { tenants: 5, days: 2, hotRecords: 200_000 };

/**
 * Compares the counters of some days of some tenants, which chance chooses, with their hot records and the catalogue.
 * Returns a sentence for each day that differs. It takes a second at most, and is no verification: that compares all.
 */
export async function findSampledDifferences(
  db: Database,
): Promise<{ tenant: string; text: string }[]> {
  const days = await sampleDays(db, sample);
  const found: { tenant: string; text: string }[] = [];
  for (const { tenant, day } of days) {
    // In one snapshot records that come in meanwhile are in both or in none.
    const wrong = await db.transaction(
      (snapshot) => listWrongDays(snapshot, tenant, { first: day, last: day }, 10),
      { isolation: 'repeatable read' },
    );
    const [first] = wrong;
    if (first === undefined) continue;
    found.push({
      tenant,
      text: `${tenant} › ${first.store ?? ''} › ${day}: the counter says ${first.counted_count} ${first.tier} records (${first.counted_bytes} bytes), and there are ${first.found_count} (${first.found_bytes} bytes)${wrong.length > 1 ? ', and so with other stores that day' : ''}`,
    });
  }
  return found;
}
