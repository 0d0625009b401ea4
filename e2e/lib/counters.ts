import type pg from 'pg';
import { expect } from 'vitest';
import type { Service } from './installation.ts';
import { type Row, withPostgres } from './postgres.ts';

const levels = {
  leaf_days: 'tenant, store, day',
  leaf_months: 'tenant, store, month',
  leaf_stores: 'tenant, store',
  tenant_days: 'tenant, day',
  tenant_months: 'tenant, month',
  leaf_tenants: 'tenant',
} as const;

/** A temporary table of all records, with digests computed anew from their content. */
const createRecomputed = `
  create temporary table recomputed as
  select tenant, store, (occurred_at at time zone 'UTC')::date as day,
    to_char(occurred_at at time zone 'UTC', 'YYYY-MM') as month, occurred_at, bytes, digest as kept,
    record_digest(tenant, store, occurred_at, event_id, kind, source, model, confidence, enrichment)
      as digest
  from enrichment_records`;

const sums = `count(*) as count, sum(bytes)::bigint as bytes,
  mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616) as digest,
  min(occurred_at) as first_at, max(occurred_at) as last_at`;

/**
 * Expects every counter of every level, and every dataset of the API, to equal the sum of its records, recomputed from
 * their content. Nobody may write meanwhile.
 */
export async function expectCountersTrue(url: string, service: Service): Promise<void> {
  await withPostgres(url, async (client) => {
    // All queries see one snapshot, because a part whose client has hung up may still commit.
    await client.query('begin isolation level repeatable read');
    await client.query(createRecomputed);
    const wrong = await client.query('select * from recomputed where digest <> kept limit 5');
    expect(wrong.rows, 'records whose digest is not that of their content').toEqual([]);
    for (const [table, key] of Object.entries(levels)) {
      await expectLevelTrue(client, table, key);
    }
    await client.query('commit');
    for (const level of ['tenant', 'store', 'month'] as const) {
      expect(await listDatasets(service, level), level).toEqual(await sumDatasets(client, level));
    }
  });
}

async function expectLevelTrue(client: pg.Client, table: string, key: string): Promise<void> {
  const kept = `select ${key}, count, bytes, digest, first_at, last_at from ${table}`;
  const added = `select ${key}, ${sums} from recomputed group by ${key}`;
  const differences = await client.query(
    `(select 'kept' as side, * from (${kept} except ${added}) k)
     union all (select 'recomputed', * from (${added} except ${kept}) r)`,
  );
  expect(differences.rows, `${table} against the records`).toEqual([]);
}

const names = {
  tenant: ['tenant'],
  store: ['tenant', 'store'],
  month: ['tenant', 'store', 'month'],
};

async function sumDatasets(client: pg.Client, level: keyof typeof names): Promise<Row[]> {
  const key = names[level].join(', ');
  const { rows } = await client.query<Row>(
    `select ${key}, ${sums} from recomputed group by ${key} order by ${key}`,
  );
  return rows.map((row) => ({
    ...Object.fromEntries(names[level].map((name) => [name, row[name]])),
    count: Number(row.count),
    bytes: Number(row.bytes),
    digest: BigInt(String(row.digest)).toString(16).padStart(16, '0'),
  }));
}

async function listDatasets(service: Service, level: keyof typeof names): Promise<Row[]> {
  const found: Row[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const path = `/enrichment/datasets?level=${level}&limit=500${more}`;
    const answer = await service.call('GET', path);
    expect(answer.status, answer.text).toBe(200);
    for (const row of answer.json.data as Row[]) {
      const { count, bytes, digest } = row;
      const own = Object.fromEntries(names[level].map((name) => [name, row[name]]));
      found.push({ ...own, count, bytes, digest });
    }
    cursor = answer.json.next_cursor;
  }
  return found;
}
