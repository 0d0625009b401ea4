import { readFile } from 'node:fs/promises';
import { Webhook } from 'standardwebhooks';
import { beforeAll, expect, test } from 'vitest';
import { baseline, lastReplaced } from '../../packages/server/src/platform/postgres/baseline.ts';
import { readJournal } from '../../packages/server/src/platform/postgres/migrate.ts';
import { openDatabase } from '../../packages/server/src/platform/postgres/open-database.ts';
import { printSchema } from '../../packages/server/test/print-schema.ts';
import { useReceiver } from '../../packages/server/test/receiver.ts';
import { callApi, openExport } from '../lib/api.ts';
import { createJob, downloadFile, untilCompleted } from '../lib/exports.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { type Expected, restoreRelease } from '../lib/old-release.ts';
import { runRetention, verifyAll } from '../lib/retention.ts';
import { untilDelivery, webhookSettings } from '../lib/webhooks.ts';

/** What was made on one day in 2026 must not run out. */
const forever = {
  SVC_DELIVERY_DAYS: '3650',
  SVC_INCIDENT_DAYS: '0',
  SVC_HISTORY_DAYS: '0',
  SVC_AUDIT_DAYS: '0',
};

const installation = useInstallation();
let service: Service;
let expected: Expected;
const receiver = useReceiver();
beforeAll(async () => {
  expected = await restoreRelease('0040', installation.dataDir);
  service = await installation.start({ ...webhookSettings, ...forever });
});

test('the schema is the one of a new database, and builds of before can go on beside this one', async () => {
  const url = await installation.postgresUrl();
  const db = openDatabase({ url, maxConnections: 1, onError: () => {} });
  const made = new URL('../../packages/server/migrations/schema.sql', import.meta.url);
  const partition = /^(create table|CREATE .*INDEX) .*enrichment_records_\d{4}_\d{2}/;
  const printed = (await printSchema(db)).split('\n\n').filter((part) => !partition.test(part));
  const journal = await readJournal(db);
  await db.close();
  expect(printed.join('\n\n')).toBe(await readFile(made, 'utf8'));
  expect(journal).toContainEqual(expect.objectContaining({ name: baseline, needs: lastReplaced }));
  expect(journal).toContainEqual(expect.objectContaining({ name: lastReplaced }));
});

test('tags, versions, policies and the journal of moves are there', async () => {
  await expectList('/enrichment/tags', expected.tags);
  await expectList('/enrichment/dataset-versions', expected.versions);
  await expectList('/retention/policies', expected.policies, 'tenant');
  await expectList('/retention/moves?limit=500', expected.moves);
});

test('every leaf, page and export is what it was, also when what is hot has moved', async () => {
  await expectViews();
  const { data: leaves } = await get('/enrichment/datasets?tenant=TX&month=2001-02');
  expect(leaves).toMatchObject([{ tier: 'cold' }, { tier: 'mixed' }, { tier: 'cold' }]);
  expect(await verifyAll(service)).toMatchObject({ ok: true, problem_count: 0 });
  await runRetention(service, { before: '2001-04-01' });
  await expectViews();
  expect(await verifyAll(service)).toMatchObject({ ok: true, problem_count: 0 });
});

test('records that come again are known, in both tiers', async () => {
  const response = await fetch(`${service.url}/api/v1/exports/ndjson`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant: 'TX' }),
  });
  const lines = (await response.text()).replace(/"(recorded_at":"[^"]*"|bytes":\d+),?/g, '');
  const answer = await service.call('POST', '/enrichment/records', {
    body: lines,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  const { leaves = [] } = expected.views.TX ?? {};
  const count = leaves.reduce((sum, leaf) => sum + Number(leaf.count), 0);
  expect(answer.json).toMatchObject({ accepted: 0, duplicates: count, rejected_count: 0 });
});

test('files of exports are there, and a version is exported as it was', async () => {
  await expectList('/exports', expected.exports);
  for (const job of expected.exports) {
    const file = await downloadFile(service, String(job.id));
    expect(file.length).toBe(job.bytes);
  }
  const old = expected.exports.find((job) => job.format === 'parquet');
  const job = await createJob(service, 'parquet', {
    tenant: 'TX',
    version: expected.versions[0]?.id,
  });
  const { digest, rows_total: rows } = await untilCompleted(service, job.id);
  expect({ digest, rows }).toEqual({ digest: old?.digest, rows: old?.rows_total });
});

test('tokens that worked still do, and no other', async () => {
  const statusWith = async (name: string, path: string) => {
    const token = expected.tokens[name] ?? '';
    const answer = await callApi({ url: service.url, token }, 'GET', `/api/v1${path}`);
    return [answer.status, answer.json.code ?? answer.json.data?.length];
  };
  const tenants = '/enrichment/datasets?level=tenant';
  expect(await statusWith('reader', tenants)).toEqual([200, 3]);
  expect(await statusWith('reader', '/webhook/dlq?status=pending')).toEqual([403, 'scope_missing']);
  expect(await statusWith('limited', tenants)).toEqual([200, 1]);
  expect(await statusWith('revoked', tenants)).toEqual([401, 'token_revoked']);
  expect(await statusWith('expired', tenants)).toEqual([401, 'token_expired']);
  const { output } = await installation.run(['audit', 'verify']);
  expect(output).toMatch(/^ok: /);
});

test('incidents, deliveries and dead letters are there, and drain to a receiver that is well', async () => {
  await expectList('/incidents', expected.incidents);
  await expectList('/webhook/deliveries', expected.deliveries);
  await expectList('/webhook/endpoints', expected.endpoints);
  await expectList('/webhook/dlq?status=pending', expected.pending);
  await expectList('/webhook/dlq?status=abandoned', expected.abandoned);
  for (const [name, { id }] of Object.entries(expected.secrets)) {
    const body = { url: receiver.url(`/${name}`), enabled: true };
    const changed = await service.call('PATCH', `/webhook/endpoints/${id}`, { body });
    expect(changed.status, changed.text).toBe(200);
  }
  const dead = [...expected.pending, ...expected.abandoned];
  for (const { id } of dead) {
    const answer = await service.call('POST', `/webhook/dlq/${String(id)}/retry`);
    expect(answer.status, answer.text).toBeLessThan(300);
    await untilDelivery(service, String(id), 'delivered');
  }
  // What waited for its endpoint goes out, too.
  const waiting = expected.deliveries.filter((row) => row.waits_for_endpoint === true);
  for (const { id } of waiting) await untilDelivery(service, String(id), 'delivered');
  const keys = new Set([...dead, ...waiting].map((row) => row.idempotency_key));
  expect(new Set(receiver.requests.map(({ id }) => id))).toEqual(keys);
  for (const { path, body, headers } of receiver.requests) {
    const [secret = ''] = expected.secrets[path.slice(1)]?.secrets ?? [];
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
  }
});

test('an incident that is reported again is the same, and a new one is delivered', async () => {
  const sent = {
    tenant: 'TX',
    type: 'incident.created',
    occurred_at: '2001-03-05T14:07:09.123456Z',
    data: { n: 1, score: 0.97, text: 'çą' },
    idempotency_key: 'incident.created-1',
  };
  const again = await service.call('POST', '/incidents', { body: sent });
  const known = expected.incidents.map(({ id }) => id);
  expect(again.status, again.text).toBe(202);
  expect(known).toContain(again.json.id);
  const changed = { ...sent, data: { n: 2 } };
  expect((await service.call('POST', '/incidents', { body: changed })).status).toBe(409);
  const fresh = { ...sent, idempotency_key: 'new' };
  const { json } = await service.call('POST', '/incidents', { body: fresh });
  expect(known).not.toContain(json.id);
  await untilDelivery(service, json.deliveries[0].id, 'delivered');
});

async function expectViews(): Promise<void> {
  for (const [tenant, view] of Object.entries(expected.views)) {
    const name = encodeURIComponent(tenant);
    const { data: leaves } = await get(`/enrichment/datasets?tenant=${name}&include=days`);
    const { data: records } = await get(`/enrichment/records?tenant=${name}&limit=500`);
    const withoutTier = view.leaves.map(({ tier: _tier, stored_bytes: _stored, ...leaf }) => leaf);
    expect(leaves).toHaveLength(withoutTier.length);
    const { data: months } = await get(`/stats/records?tenant=${name}`);
    for (const { month, hot_count: hot, cold_count: cold } of months) {
      const ofMonth = view.leaves.filter((leaf) => leaf.month === month);
      const count = ofMonth.reduce((sum, leaf) => sum + Number(leaf.count), 0);
      expect([month, hot + cold]).toEqual([month, count]);
    }
    expect(months).toHaveLength(3);
    expect(leaves).toMatchObject(withoutTier);
    expect(records.map((record: { event_id: string }) => record.event_id)).toEqual(view.ids);
    const download = await openExport(service, { tenant });
    expect((await download.readAll()).toString()).toBe(view.csv);
  }
}

/** What goes on by itself: attempts are made later, objects removed once nobody can read them, and old secrets end. */
const moving = new Set(['next_retry', 'removed_at', 'previous_secret_until']);

/** Fails unless a list has these rows, whatever else it tells of them. */
async function expectList(
  path: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  key = 'id',
): Promise<void> {
  const { data } = await get(path);
  const byKey = new Map(data.map((row: Record<string, unknown>) => [row[key], row]));
  expect(new Set(byKey.keys())).toEqual(new Set(rows.map((row) => row[key])));
  for (const row of rows) {
    const kept = Object.entries(row).filter(([name, value]) => {
      return !moving.has(name) && !(name === 'state' && value === 'switched');
    });
    const found = byKey.get(row[key]);
    expect(found, `${path} ${String(row[key])}`).toMatchObject(Object.fromEntries(kept));
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the answers have every shape
async function get(path: string): Promise<any> {
  const answer = await service.call('GET', path);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}
