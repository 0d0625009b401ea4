import { testActor } from '../../../../test/actor.ts';
import type { Actor } from '../../../kernel/actor.ts';
import { systemClock } from '../../../kernel/clock.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { createIngest } from '../../ingest/ingest.ts';
import { bodyOf, ingestLimits } from '../../ingest/testing/post-records.ts';
import type { ColdReader } from '../../segments/segment.ts';
import { createTiers, listRecords, type PageRequest } from '../pages.ts';
import type { ScanLimits, Tier } from '../tier.ts';

const cursorKey = Buffer.alloc(32, 7);

/** What pages are read from; without a database there are no tags to look up. */
export type TestTier = Tier & { readonly db?: Queryable };

export function bothTiers(db: Database, cold: ColdReader, limits?: ScanLimits): TestTier {
  return { ...createTiers(db, cold, limits), db };
}

/** Ingests new records, given as JSON texts or as what is written so, each batch with a time of its own. */
export async function ingest(
  db: Database,
  cold: ColdReader,
  batches: readonly (readonly (string | object)[])[],
): Promise<void> {
  const sink = createIngest(db, { ...ingestLimits, writers: 2, clock: systemClock, cold });
  for (const records of batches) {
    const lines = records.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    const body = bodyOf(`{"records":[${lines.join(',')}]}`);
    const answer = await sink.batch(body, testActor);
    if (answer.accepted !== lines.length) throw new Error(JSON.stringify(answer));
  }
}

export async function page(records: TestTier, request: PageRequest, actor = testActor) {
  const { db = untagged } = records;
  const text = await listRecords({ db, records }, cursorKey, actor, request);
  const { next_cursor, prev_cursor, data } = JSON.parse(text) as {
    data: { tenant: string; store: string; occurred_at: string; event_id: string }[];
    next_cursor: string | null;
    prev_cursor: string | null;
  };
  return { text, next: next_cursor, prev: prev_cursor, data };
}

/** All pages that lead one way from the first. */
export async function pagesOf(
  records: TestTier,
  { start, ...request }: PageRequest,
  { way = 'next', actor = testActor }: { way?: 'next' | 'prev'; actor?: Actor } = {},
) {
  const pages = [await page(records, { ...request, ...(start && { start }) }, actor)];
  for (let step = 0; step <= 500; step++) {
    const cursor = pages.at(-1)?.[way] ?? null;
    if (cursor === null) return pages;
    pages.push(await page(records, { ...request, cursor }, actor));
  }
  throw new Error('the walk does not end');
}

const untagged: Queryable = {
  query: () => Promise.reject(new Error('there is no database to look tags up in')),
};

/** The texts of all pages there are, first onwards to the end, then back to the beginning. */
export async function walk(records: TestTier, request: PageRequest): Promise<string[]> {
  const on = await pagesOf(records, request);
  const cursor = on.at(-1)?.prev ?? null;
  const back =
    cursor === null ? [] : await pagesOf(records, { ...request, cursor }, { way: 'prev' });
  return [...on, ...back].map(({ text }) => text);
}
