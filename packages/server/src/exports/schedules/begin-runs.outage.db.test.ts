import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { storeUnavailable } from '../../platform/objects/objects.ts';
import * as queries from './queries.ts';
import { idsOf } from './testing/delivered.ts';
import { useScheduleRuns } from './testing/runs.ts';

const runs = useScheduleRuns();
const { exports, schedule, placeWith, begin, mark, runWhole, delivered, lastId } = runs;
let tenant = '';
beforeEach(() => {
  tenant = runs.tenantOf();
});

test('a run waits for a place that does not answer, and fails where the key is refused', async () => {
  await exports.ingest(tenant, 20, 'a');
  await begin();
  await exports.work(
    placeWith(() => {
      throw storeUnavailable('The object cannot be written', 'the store says SlowDown');
    }),
  );
  const id = await lastId();
  expect(await exports.job(id)).toMatchObject({ state: 'waiting' });
  expect(await begin()).toBe(0);
  const refused = Object.assign(new Error('no'), {
    name: 'AccessDenied',
    $metadata: { httpStatusCode: 403 },
  });
  for (let n = 0; n < 5; n += 1) {
    await exports.db.query(sql`update exports set due_at = null`);
    await exports.work(
      placeWith(() => {
        throw storeUnavailable('It cannot be written', 'the store says AccessDenied', {
          cause: refused,
        });
      }),
    );
  }
  expect(await exports.job(id)).toMatchObject({ state: 'failed' });
  const failed = await queries.findSchedule(exports.db, { id: schedule().id, reach: null });
  expect(failed?.last_run?.error).toContain('AccessDenied');
  await runWhole();
  expect(await delivered()).toEqual(idsOf('a', 20).sort());
});

test('a run that gets on between outages waits its hour anew, and sends no file twice', async () => {
  await exports.ingest(tenant, 100, 'a');
  await begin();
  const id = await lastId();
  const sent: string[] = [];
  const outage = placeWith((key) => {
    if (sent.length % 2 === 1) {
      sent.push('outage');
      throw storeUnavailable('It cannot be written', 'connect ECONNREFUSED');
    }
    sent.push(key);
  });
  for (const _outage of [1, 2, 3]) {
    await exports.work(outage);
    expect(await exports.job(id)).toMatchObject({ state: 'waiting' });
    await exports.db.query(sql`
      update exports set due_at = null, waiting_since = waiting_since - interval '50 minutes'`);
  }
  await exports.work(placeWith((key) => void sent.push(key)));
  const keys = sent.filter((key) => key !== 'outage');
  expect(new Set(keys).size).toBe(keys.length);
  await mark();
  expect(await delivered()).toEqual(idsOf('a', 100).sort());
});

test('a run that finds its place away for a day delivers what came meanwhile, each record once', async () => {
  const pass = sql`
    update exports set finished_at = finished_at - interval '1 hour', due_at = null,
      waiting_since = waiting_since - interval '40 minutes'`;
  for (let hour = 0; hour < 24; hour += 1) {
    await exports.ingest(tenant, 2, `hour-${hour}`);
    await exports.db.query(pass);
    await begin();
    // Sometimes a part gets there, and nothing after it.
    let puts = hour % 2;
    const away = placeWith(() => {
      if (puts === 0) throw storeUnavailable('It cannot be written', 'connect ECONNREFUSED');
      puts -= 1;
    });
    await exports.work(away);
  }
  expect(await delivered()).toEqual([]);
  for (let run = 0; run < 2; run += 1) {
    await exports.db.query(pass);
    await runWhole();
  }
  const all = Array.from({ length: 24 }, (_, hour) => idsOf(`hour-${hour}`, 2));
  expect(await delivered()).toEqual(all.flat().sort());
});
