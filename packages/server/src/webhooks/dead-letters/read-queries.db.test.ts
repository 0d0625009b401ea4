import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { blocksOf } from '../../../test/one-server.ts';
import { listDeliveries } from './lists.ts';
import { seedDeliveries, seedEndpoint } from './testing/seed.ts';

const db = useTestDatabase();

const readers = [
  ['of any tenant', null],
  ['of one', ['T']],
] as const;

test.each(readers)(
  'a page of what a replay made reads only that page, in any status or in one, for a reader %s',
  async (_who, tenants) => {
    const endpoint = await seedEndpoint(db);
    await seedDeliveries(db, endpoint, 3000, { status: 'queued', secondsAgo: 60 });
    const made = await seedDeliveries(db, endpoint, 3000, { status: 'queued', secondsAgo: 5000 });
    const delivered = made.filter((_, n) => n % 3 === 0);
    const queued = made.filter((_, n) => n % 3 !== 0);
    const replayId = `rpl_${endpoint.id}`;
    await db.query(sql`update deliveries set replay_id = ${replayId} where id = any(${made})`);
    await db.query(sql`
      update deliveries set status = 'delivered', next_attempt_at = null where id = any(${delivered})`);
    await db.query(sql`analyze deliveries`);
    const actor = { ...testActor, tenants };
    for (const [filter, page] of [
      [{}, made],
      [{ status: 'queued' }, queued],
      [{ status: 'delivered' }, delivered],
      [{ status: 'abandoned' }, []],
      [{ outcome: 'delivered' }, delivered],
      [{ outcome: 'delivered', status: 'delivered' }, delivered],
      [{ outcome: 'failed_again' }, []],
    ] as const) {
      let cursor: string | undefined;
      for (const from of [0, 20]) {
        let ids: string[] = [];
        const blocks = await blocksOf(db, async (counted) => {
          const more = { ...filter, ...(cursor && { cursor }) };
          const query = { job_id: replayId, limit: 20, ...more };
          const listed = await listDeliveries(counted, Buffer.alloc(32), actor, query);
          ids = listed.data.map(({ id }) => id);
          cursor = listed.next_cursor ?? undefined;
        });
        expect(ids).toEqual(page.slice(from, from + 20));
        expect(blocks.deliveries ?? 0, JSON.stringify(blocks)).toBeLessThan(60);
      }
    }
    const listOf = async (more: Partial<Parameters<typeof listDeliveries>[3]>) => {
      const query = { job_id: replayId, limit: 200, ...more };
      return (await listDeliveries(db, Buffer.alloc(32), actor, query)).data;
    };
    expect((await listOf({ outcome: 'under_way' })).map(({ id }) => id)).toEqual(
      queued.slice(0, 200),
    );
    expect(await listOf({ outcome: 'waits_for_endpoint' })).toEqual([]);
    expect(await listOf({ outcome: 'delivered', status: 'queued' })).toEqual([]);
  },
);
