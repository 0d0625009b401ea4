import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnPostgres, startOwnPostgres } from '../../test/own-postgres.ts';
import { startTestService, type TestService } from '../../test/service.ts';

let postgres: OwnPostgres;
let service: TestService;
beforeAll(async () => {
  postgres = await startOwnPostgres({ standbyMillis: 1000 });
  service = await startTestService({ DATABASE_URL: postgres.url }, undefined, {
    waits: { standbyMillis: 1000 },
  });
});
afterAll(async () => {
  await service.stop();
  await postgres.stop();
});

const write = (event_id: string, tenant = 'TX') => {
  const when = { occurred_at: '2001-03-01T00:00:00Z', enrichment: {} };
  const records = [{ tenant, store: 'S', event_id, ...when }];
  return service.call('POST', '/enrichment/records', { body: { records } });
};
const findingOf = async () => {
  const { findings } = (await service.call('GET', '/doctor')).json;
  return findings.find(({ check }: { check: string }) => check === 'writes');
};

test('a database that only reads is read, writes are answered 503 read_only, and all goes on after it', async () => {
  expect((await write('before')).status).toBe(200);
  expect(await findingOf()).toMatchObject({ severity: 'ok' });
  await postgres.setReadOnly(true);
  const ready = async () => (await service.call('GET', '/~/readyz')).json;
  await expect.poll(ready).toMatchObject({ status: 'ready', warnings: [{ code: 'read_only' }] });

  for (const path of [
    ...['/me', '/enrichment/datasets', '/enrichment/records?tenant=TX', '/webhook/endpoints'],
    ...['/webhook/dlq?status=pending', '/stats/overview', '/status', '/tokens', '/audit'],
    ...['/exports', '/retention/plan', '/notify/targets', '/incidents', '/sessions'],
  ]) {
    const { status, text } = await service.call('GET', path);
    expect(status, `${path} ${text}`).toBe(200);
  }
  const incident = { tenant: 'TX', type: 'incident.created', data: {} };
  const tag = { tenant: 'TX', month: '2001-03', dataset: 'training' };
  for (const answer of [
    await write('while'),
    await service.call('POST', '/incidents', { body: incident }),
    await service.call('POST', '/tokens', { body: { name: 'x', preset: 'admin' } }),
    await service.call('POST', '/enrichment/tags', { body: tag }),
    await service.call('POST', '/retention/run', { body: {} }),
  ]) {
    expect([answer.status, answer.json?.code], answer.text).toEqual([503, 'read_only']);
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  const finding = { severity: 'problem', found: expect.stringContaining('only reads') };
  expect(await findingOf()).toMatchObject(finding);

  await postgres.setReadOnly(false);
  await expect.poll(ready).toEqual({ status: 'ready' });
  expect((await write('after')).json.accepted).toBe(1);
});

test('writes that wait for a standby that is away end as 503, hold no reader, and leave nobody waiting', async () => {
  const waiting = () =>
    postgres.db.query<{ pid: number }>(
      sql`select pid from pg_stat_activity where wait_event = 'SyncRep'`,
    );
  try {
    expect((await write('before')).status).toBe(200);
    await postgres.waitForStandbys('FIRST 1 (nas, cellar)');
    const incident = (tenant: string) => ({ tenant, type: 'incident.created', data: {} });
    const writes = ['A', 'B', 'C', 'D'].flatMap((tenant) => [
      write('while', tenant),
      service.call('POST', '/incidents', { body: incident(tenant) }),
    ]);
    const seen = new Set<number>();
    const look = async () => {
      for (const { pid } of await waiting()) seen.add(pid);
      return seen.size;
    };
    await expect.poll(look, { timeout: 20_000 }).toBeGreaterThan(3);
    expect((await service.call('GET', '/enrichment/datasets')).status).toBe(200);
    for (const { status, json, text } of await Promise.all(writes)) {
      expect([status, json.code], text).toEqual([503, 'database_unavailable']);
      expect(json.detail).toContain('waits for a standby');
    }
    const slice = { tenant: 'TX', month: '2001-03' };
    for (const answer of await Promise.all([
      // It is stored, on this server alone.
      write('while', 'A'),
      service.call('POST', '/exports/csv', { body: slice, headers: { prefer: 'respond-async' } }),
    ])) {
      expect([answer.status, answer.json.code], answer.text).toEqual([503, 'database_unavailable']);
    }
    const finding = await findingOf();
    expect(finding).toMatchObject({
      severity: 'problem',
      found: 'each write waits for the standby nas, which is not connected',
    });
    // A statement outside of a transaction waits as well.
    await expect(
      postgres.db.query(sql`insert into processes (id, host, pid, version, node, command, roles, settings)
          values ('prc_x', 'h', 1, '0', 'v', 'serve', '{}', '{}')`),
    ).rejects.toMatchObject({ code: 'database_unavailable' });
    await postgres.waitForStandbys('');
    await expect.poll(waiting).toEqual([]);
    expect((await write('after')).status).toBe(200);
  } finally {
    await postgres.waitForStandbys('');
  }
}, 120_000);
