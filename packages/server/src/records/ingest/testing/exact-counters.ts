import sql from 'sql-template-tag';
import { expect } from 'vitest';
import type { TestDatabase } from '../../../../test/database.ts';
import { formatDigest, recordDigest, sumDigests } from '../../../kernel/digest.ts';

const day = `(occurred_at at time zone 'UTC')::date`;
const month = `to_char(occurred_at at time zone 'UTC', 'YYYY-MM')`;
export const levels = [
  ['leaf_days', `tenant, store, ${day}`, 'tenant, store, day'],
  ['leaf_months', `tenant, store, ${month}`, 'tenant, store, month'],
  ['leaf_stores', 'tenant, store', 'tenant, store'],
  ['tenant_days', `tenant, ${day}`, 'tenant, day'],
  ['tenant_months', `tenant, ${month}`, 'tenant, month'],
  ['leaf_tenants', 'tenant', 'tenant'],
];

/**
 * Compares every counter of every level with the records themselves, none of which may be cold. Their digests are
 * computed anew from their content, in PostgreSQL and in Node.
 */
export async function expectExactCounters(db: TestDatabase): Promise<void> {
  for (const [table, group, key] of levels) {
    const { rows } = await db.pool.query(`
      with counted as (
        select ${group}, count(*)::bigint, sum(bytes)::bigint,
          mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616),
          min(occurred_at), max(occurred_at)
        from enrichment_records group by ${group}
      ), kept as (select ${key}, count, bytes, digest, first_at, last_at from ${table})
      (table counted except table kept) union all (table kept except table counted)`);
    expect(rows, table).toEqual([]);
  }
  const wrong = await db.query(sql`
    select tenant, event_id from enrichment_records where digest is distinct from
      record_digest(tenant, store, occurred_at, event_id, kind, source, model, confidence, enrichment)`);
  expect(wrong).toEqual([]);
  const records = await db.query<Parameters<typeof recordDigest>[0] & Record<string, never>>(sql`
    select *, event_id as "eventId", enrichment::text as enrichment,
      (extract(epoch from occurred_at) * 1000000)::bigint as "occurredAtMicros" from enrichment_records`);
  const tenants = await db.query<{ digest: string }>(sql`select digest::text from leaf_tenants`);
  expect(formatDigest(sumDigests(records.map(recordDigest)))).toBe(
    formatDigest(sumDigests(tenants.map(({ digest }) => BigInt(digest)))),
  );
  // What was moved away or erased since stays counted as stored.
  const stored = await db.query(sql`
    select tenant, sum(count)::int as count, sum(bytes)::int as bytes from stored_hours
    where tenant in (select tenant from enrichment_records) group by 1 order by 1`);
  const there = await db.query(sql`
    select tenant, count(*)::int as count, sum(bytes)::int as bytes from enrichment_records group by 1 order by 1`);
  expect(stored).toEqual(there);
}
