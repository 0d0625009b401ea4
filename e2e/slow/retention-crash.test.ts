import { expect, test } from 'vitest';
import { ingestStream } from '../lib/ingest.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { query } from '../lib/postgres.ts';
import { makeRecord, type NewRecord } from '../lib/records.ts';
import { runRetention, verifyAll, viewTenant } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');

const settings = { SVC_LOG_LEVEL: 'error', SVC_COLD_GRACE_SECONDS: '1' };
/** What a move has just reached when the service is killed, round by round. */
const states = ['planned', 'copied', 'verified', 'switched', 'planned', 'switched'];

test('a move survives kill -9 at any of its states, with records coming in meanwhile', async () => {
  const sent = new Map<string, NewRecord>();
  let service = await installation.start(settings);
  await store(service, sent, 3000);
  for (const [round, state] of states.entries()) {
    const url = await installation.postgresUrl();
    const run = await service.call('POST', '/retention/run', { body: {} });
    const writing = store(service, sent, 500).catch(() => {});
    // States pass quickly: whatever comes first, a move in this one or the end of the run.
    await waitFor(`a move that is ${state}`, async () => {
      const [found] = await query(
        url,
        `select exists (select from moves where state = $1)
          or exists (select from retention_runs where id = $2 and state = 'completed') as is_time`,
        [state, run.json.id],
      );
      return found?.is_time === true;
    });
    await service.kill();
    if (round % 3 === 2) await installation.signalPostgres('SIGKILL');
    await writing;
    service = await installation.start(settings);
  }
  // What was not acknowledged may be stored or not: sent again, all of it is, once.
  await store(service, sent, 0);
  await waitFor('all to be cold', async () => {
    await runRetention(service, {}, {});
    const leaves = await service.call('GET', '/enrichment/datasets?level=tenant');
    return leaves.json.data[0].tier === 'cold';
  });
  const view = await viewTenant(service, 'TX');
  expect([...view.ids].sort()).toEqual([...sent.keys()].sort());
  expect(view.rowCount).toBe(sent.size);
  const report = await verifyAll(service);
  expect(report.problems).toEqual([]);
  const failed = await service.call('GET', '/retention/moves?state=failed');
  expect(failed.json.data).toEqual([]);
});

/** Adds `count` new records to those sent, and sends all. */
async function store(service: Service, sent: Map<string, NewRecord>, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const id = `e-${sent.size}`;
    sent.set(id, makeRecord(id, sent.size));
  }
  const answer = await ingestStream(service, [...sent.values()]);
  expect(answer.rejected).toEqual([]);
}
