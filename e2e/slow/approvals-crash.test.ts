import { beforeEach, expect, test } from 'vitest';
import { type Service, useInstallation } from '../lib/installation.ts';
import { query, withPostgres } from '../lib/postgres.ts';
import { makeRecord } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';

const settings = { SVC_LOG_LEVEL: 'error', SVC_FOUR_EYES: 'erase' };

const installation = useInstallation('each');
let url: string;
let service: Service;
beforeEach(async () => {
  service = await installation.start(settings);
  url = await installation.postgresUrl();
});

const stored = async () =>
  (await query(url, 'select event_id from enrichment_records order by 1')).map(
    ({ event_id }) => event_id,
  );
const actions = async () =>
  (
    await query(
      url,
      `select action from audit_log where action in ('approval.confirm', 'records.erase') order by id`,
    )
  ).map(({ action }) => action);
const show = async (id: string) => (await service.call('GET', `/approvals/${id}`)).json;
const confirm = (id: string) => service.call('POST', `/approvals/${id}/confirm`);

/** Stores two records, and asks for the erasure of one in the name of somebody else. Returns the id of the request. */
async function askToErase(): Promise<string> {
  const records = [makeRecord('gone', 1), makeRecord('kept', 2)];
  await service.call('POST', '/enrichment/records', { body: { records } });
  const args = ['tokens', 'create', '--local', '--name', 'Bea', '--preset', 'admin'];
  const made = await installation.run(args, { SVC_DATA_DIR: installation.dataDir });
  const token = /svc_\w+/.exec(made.output)?.[0] ?? '';
  const body = { tenant: 'TX', event_ids: ['gone'] };
  const asked = await service.call('POST', '/enrichment/erase', { token, body });
  expect(asked.json.code, asked.text).toBe('approval_required');
  return asked.json.approval_id;
}

const stuck = `wait_event_type = 'Lock' and application_name like 'svcctl%'`;

/** Confirms a request, and kills the service while PostgreSQL lets it get no further than the given lock. */
async function killWhileConfirming(id: string, lock: string): Promise<void> {
  await withPostgres(url, async (client) => {
    await client.query('begin');
    await client.query(lock);
    const cut = confirm(id).catch(() => null);
    await waitFor('the confirmation to wait for the lock', async () => {
      const waiting = await query(url, `select pid from pg_stat_activity where ${stuck}`);
      return waiting.length > 0;
    });
    await service.kill();
    await cut;
    // PostgreSQL would go on with what it was sent before it noticed that nobody is there.
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${stuck}`);
    await client.query('rollback');
  });
  service = await installation.start(settings);
}

test('a confirmation that is killed between its mark and the commit of the act has done nothing, and is done once later', async () => {
  const id = await askToErase();
  // The mark stands before the entry in the audit log, in the same transaction.
  await killWhileConfirming(id, 'lock table audit_log in share mode');
  expect(await show(id)).toMatchObject({ state: 'waiting', outcome: null });
  expect(await stored()).toEqual(['gone', 'kept']);
  expect(await actions()).toEqual([]);
  const [one, other] = await Promise.all([confirm(id), confirm(id)]);
  expect([one.status, other.status].toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect(await show(id)).toMatchObject({ state: 'confirmed', outcome: 'done' });
  expect(await stored()).toEqual(['kept']);
  expect(await actions()).toEqual(['approval.confirm', 'records.erase']);
});

test('a confirmation that is killed after the commit of the act is not done again', async () => {
  const id = await askToErase();
  await query(
    url,
    `create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(42); return new; end $$`,
  );
  await query(
    url,
    `create trigger wait before update of outcome on approvals for each row when (new.outcome is not null)
      execute function wait()`,
  );
  await killWhileConfirming(id, 'select pg_advisory_xact_lock(42)');
  await query(url, 'drop trigger wait on approvals; drop function wait()');
  expect(await show(id)).toMatchObject({ state: 'confirmed', outcome: null });
  expect((await confirm(id)).json.code).toBe('approval_ended');
  expect(await stored()).toEqual(['kept']);
  expect(await actions()).toEqual(['approval.confirm', 'records.erase']);
});
