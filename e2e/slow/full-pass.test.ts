import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answer, useReceiver } from '../../packages/server/test/receiver.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { type Day, type Format, startDay } from '../lib/day.ts';
import { createJob, downloadFile, freezeVersion, untilCompleted } from '../lib/exports.ts';
import { ingestStream } from '../lib/ingest.ts';
import { query } from '../lib/postgres.ts';
import { makeRecord, type NewRecord, toNdjson } from '../lib/records.ts';
import { runRetention, type View, verifyAll, viewTenant } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';
import { type Filters, getPage, idsOf, walkPages } from '../lib/walk.ts';
import { addEndpoint, expectDeadLetterCountsTrue, report, untilDelivery } from '../lib/webhooks.ts';

// An operator's whole day over HTTP, in checks that build on each other: on a plain server with `npm run test:slow`, and
// with `npm run test:citus` on a database that becomes a cluster after its first records.

let day: Day;
const receiver = useReceiver();
beforeAll(async () => {
  day = await startDay();
});
afterAll(async () => {
  await day?.end();
});

let number = 0;
function check(name: string, work: () => Promise<void>): void {
  number += 1;
  test(`${String(number).padStart(2, '0')} ${name}`, work);
}

const call: Day['call'] = (...args) => day.call(...args);
const get = (path: string) => call('GET', path);
const countOf = (query: string) => day.countOf(query);
const idsFound = (filters: Filters) => day.listIds(filters);
const tierOf = async (tenant: string): Promise<string> =>
  (await get(`/enrichment/datasets?level=tenant&tenant=${tenant}`)).data[0]?.tier;
const formats: readonly Format[] = ['csv', 'ndjson', 'parquet'];

/** So many tenants that each worker of a cluster has some. */
const tenants = Array.from({ length: 6 }, (_, n) => `T${n}`);
const records = tenants.flatMap((tenant, t) =>
  Array.from({ length: t === 0 ? 600 : 60 }, (_, n) => makeRecord(`e${n}`, n, { tenant })),
);
const ofTenant = (tenant: string): NewRecord[] => records.filter((one) => one.tenant === tenant);
const first = records[0] as NewRecord;
let view: View;

check('a single record is stored', async () => {
  const answered = await call('POST', '/enrichment/records', { records: [first] });
  expect(answered.accepted).toBe(1);
});
check('an array of records of all tenants is stored', async () => {
  const some = records.filter((_, n) => n % 10 === 1);
  const answered = await call('POST', '/enrichment/records', { records: some });
  expect(answered).toMatchObject({ accepted: some.length, rejected_count: 0 });
});
check('a database that has records is spread over the workers, where there are any', async () => {
  await day.joinWorkers();
  const { code, output } = await day.run('database', 'distribute', '--yes');
  expect([code, output]).toEqual(
    day.isCitus
      ? [0, expect.stringContaining('2 workers')]
      : [1, expect.stringContaining('no extension citus')],
  );
});
check('a stream of NDJSON is stored, and what was there is counted as duplicates', async () => {
  const known = 1 + records.filter((_, n) => n % 10 === 1).length;
  expect(await ingestStream(day.service, records)).toMatchObject({
    accepted: records.length - known,
    duplicates: known,
    rejected_count: 0,
  });
});
check('another content under the same identity is a conflict, and changes nothing', async () => {
  const clash = { ...first, kind: 'other' };
  const { accepted, rejected } = await ingestStream(day.service, [clash]);
  expect([accepted, rejected]).toMatchObject([0, [{ index: 0, code: 'conflict' }]]);
});
check('a bad record is reported, and those beside it are stored', async () => {
  const good = ['before', 'after'].map((id) => makeRecord(id, 0, { tenant: 'T5' }));
  const { accepted, rejected } = await ingestStream(day.service, [
    good[0],
    { ...first, occurred_at: 'yesterday' },
    good[1],
  ]);
  expect([accepted, rejected]).toMatchObject([2, [{ index: 1 }]]);
});
check('all counters equal the records', () => expectCountersTrue(day.databaseUrl, day.service));

check('the tree has all tenants with their counts', async () => {
  const { data } = await get('/enrichment/datasets?level=tenant');
  expect(data.map((row: { tenant: string; count: number }) => [row.tenant, row.count])).toEqual(
    tenants.map((tenant) => [tenant, ofTenant(tenant).length + (tenant === 'T5' ? 2 : 0)]),
  );
});
check('its days sum up to the month, months to the store, stores to the tenant', async () => {
  const { data } = await get('/enrichment/datasets?tenant=T0&store=DFW&include=days');
  for (const { count, days } of data as { count: number; days: number[] }[]) {
    expect(days.reduce((sum, day) => sum + day, 0)).toBe(count);
  }
  expect(await countOf('tenant=T0&store=DFW')).toBe(200);
  expect(await countOf('level=store&tenant=T0')).toBe(600);
  expect(await countOf('level=store&q=DF')).toBe(
    2 + records.filter((one) => one.store === 'DFW').length,
  );
});
check('the days of a tenant have its records', async () => {
  const { data } = await get('/enrichment/days?tenant=T0');
  expect(data.reduce((sum: number, day: { count: number }) => sum + day.count, 0)).toBe(600);
});
check('the facts of a slice are those of its records', async () => {
  expect(await get('/enrichment/facts?tenant=T0')).toMatchObject({ count: 600, is_exact: true });
});
check('one record is found by its identity, as it was sent', async () => {
  const { tenant, store, event_id, occurred_at, enrichment } = first;
  const identity = new URLSearchParams({ tenant, store, event_id, occurred_at });
  expect(await get(`/enrichment/records/one?${identity.toString()}`)).toMatchObject({ enrichment });
});

check('pages in ascending order show each record once', async () => {
  const ids = await idsFound({ tenant: 'T0', limit: '97' });
  expect([ids.length, new Set(ids).size]).toEqual([600, 600]);
});
check('pages in descending order are the same backwards', async () => {
  const ascending = await idsFound({ tenant: 'T0', limit: '500' });
  expect(await idsFound({ tenant: 'T0', limit: '97', order: 'desc' })).toEqual(ascending.reverse());
});
check('PREV leads from the last page back to the first', async () => {
  const filters = { tenant: 'T0', limit: '97' };
  const forth = await walkPages(day.service, filters, await getPage(day.service, filters));
  const last = forth.at(-1);
  if (last === undefined) throw new Error('no page');
  const back = await walkPages(day.service, filters, last, { direction: 'prev' });
  expect(idsOf(back, 'prev')).toEqual(idsOf(forth));
});
check('pages over all tenants show everything', async () => {
  expect(await idsFound({ limit: '500' })).toHaveLength(records.length + 2);
});
check('pages of a store, a month, a window and a kind show what belongs to them', async () => {
  const own = ofTenant('T0');
  const count = (is: (one: NewRecord) => boolean) => own.filter(is).length;
  const found = async (more: Filters) =>
    (await idsFound({ tenant: 'T0', limit: '100', ...more })).length;
  expect(await found({ store: 'AUS' })).toBe(count(({ store }) => store === 'AUS'));
  expect(await found({ month: '2001-02' })).toBe(
    count(({ occurred_at }) => occurred_at.startsWith('2001-02')),
  );
  expect(await found({ from: '2001-01-05', to: '2001-01-09' })).toBe(
    count(({ occurred_at }) => occurred_at > '2001-01-05' && occurred_at < '2001-01-10'),
  );
  expect(await found({ kind: 'kind-3' })).toBe(count(({ kind }) => kind === 'kind-3'));
});

const training = { tenant: 'T0', month: '2001-01', dataset: 'training' };
let tuningTag: string;
check('a slice is tagged for training, a part of it for fine-tuning, with a warning', async () => {
  const told = await call('POST', '/enrichment/tags', { ...training, dry_run: true });
  expect(told).toMatchObject({ id: null, count: 150 });
  expect(await call('POST', '/enrichment/tags', training, 201)).toMatchObject({ count: 150 });
  const tuning = { ...training, store: 'DFW', dataset: 'fine_tuning' };
  const made = await call('POST', '/enrichment/tags', tuning, 201);
  expect(made).toMatchObject({ count: 50, warnings: [{ code: 'in_both_datasets', count: 50 }] });
  tuningTag = made.id;
});
check('the tree and the pages tell what is tagged', async () => {
  const { data } = await get('/enrichment/datasets?level=tenant&tenant=T0');
  const by_dataset = { training: 150, fine_tuning: 50 };
  expect(data).toMatchObject([{ covered: 150, coverage: 0.25, by_dataset }]);
  expect(await idsFound({ tenant: 'T0', dataset: 'fine_tuning' })).toHaveLength(50);
});
check('a tag is taken away', async () => {
  await call('DELETE', `/enrichment/tags/${tuningTag}`, undefined, 204);
  expect((await get('/enrichment/tags?tenant=T0')).data).toHaveLength(1);
});
let version: string;
check('a version with splits is frozen and counted', async () => {
  const shares = { train: 80, validation: 10, test: 10 };
  const request = { tenant: 'T0', dataset: 'training', name: 'v1', shares };
  const frozen = await freezeVersion(day.service, request);
  const { train, validation, test: tested } = frozen.splits;
  expect([frozen.state, frozen.count]).toEqual(['ready', 150]);
  expect(train.count + validation.count + tested.count).toBe(150);
  version = frozen.id;
});
check('what arrives later is not part of the version', async () => {
  await ingestStream(day.service, [makeRecord('later', 0, { tenant: 'T0' })]);
  expect(await countOf('tenant=T0&month=2001-01')).toBe(151);
  expect((await day.download('ndjson', { tenant: 'T0', version })).rowCount).toBe(150);
});

for (const format of formats) {
  check(`a streamed export as ${format} has as many rows as its leaves`, async () => {
    const { rowCount, rows } = await day.download(format, { tenant: 'T0' });
    expect([rowCount, rows]).toEqual([601, await countOf('tenant=T0')]);
  });
}
check('an export as NDJSON is ingested again as nothing but duplicates', async () => {
  const { file } = await day.download('ndjson', { tenant: 'T1' });
  const lines = file.toString().trimEnd().split('\n');
  const again = lines.map((line) => JSON.parse(line));
  expect(file.toString()).toBe(toNdjson(again));
  expect(await ingestStream(day.service, again)).toMatchObject({ accepted: 0, duplicates: 60 });
});
for (const format of formats) {
  check(`an export job as ${format} ends with as many rows as its leaf`, async () => {
    const leaf = { tenant: 'T0', store: 'IAH' };
    const job = await untilCompleted(day.service, (await createJob(day.service, format, leaf)).id);
    const file = await downloadFile(day.service, job.id);
    expect([job.rows_done, await day.countRows(format, file)]).toEqual([200, 200]);
  });
}
check('an estimate is exact, and a link works once', async () => {
  expect(await get('/exports/estimate?tenant=T0&store=IAH')).toMatchObject({ rows: 200 });
  const request = { tenant: 'T0', store: 'IAH', delivery: 'link' };
  const { url } = await call('POST', '/exports/csv', request, 201);
  const statuses = [];
  for (let n = 0; n < 2; n += 1) statuses.push((await day.service.probe(url)).status);
  expect(statuses).toEqual([200, 404]);
});

check('a policy is set, and the default is in force for others', async () => {
  await call('PUT', '/retention/policies/*', { hot_days: 30 });
  await call('PUT', '/retention/policies/T1', { hot_days: 36_500 });
  expect(await get('/retention/policies/T1')).toMatchObject({ from_default: false });
  expect(await get('/retention/policies/T2')).toMatchObject({ hot_days: 30, from_default: true });
});
check('the plan tells what a run would move', async () => {
  const { totals } = await get('/retention/plan?tenant=T0&before=2001-03-01');
  expect(totals.move).toMatchObject({ tenants: 1, count: 301 });
});
check('a run moves the older months, and everything reads as before', async () => {
  view = await viewTenant(day.service, 'T0');
  const run = await runRetention(day.service, { tenant: 'T0', before: '2001-03-01' });
  expect(run).toMatchObject({ state: 'completed', moved_count: 301, failed_moves: 0 });
  expect(await tierOf('T0')).toBe('mixed');
  expect(await viewTenant(day.service, 'T0')).toEqual(view);
});
check('a run for all moves the rest, except where a policy keeps it hot', async () => {
  const run = await runRetention(day.service);
  expect(run).toMatchObject({ state: 'completed', moved_count: 300 + 242, failed_moves: 0 });
  const tiers = [await tierOf('T0'), await tierOf('T1'), await tierOf('T5')];
  expect(tiers).toEqual(['cold', 'hot', 'cold']);
  expect(await viewTenant(day.service, 'T0')).toEqual(view);
});
check(
  'cold records are duplicates and conflicts as hot ones are, and late ones are stored',
  async () => {
    expect(await ingestStream(day.service, ofTenant('T0'))).toMatchObject({ duplicates: 600 });
    const { rejected } = await ingestStream(day.service, [{ ...first, kind: 'other' }]);
    expect(rejected).toMatchObject([{ code: 'conflict' }]);
    const late = Array.from({ length: 40 }, (_, n) => makeRecord(`late${n}`, n, { tenant: 'T0' }));
    expect(await ingestStream(day.service, late)).toMatchObject({ accepted: 40 });
    expect([await tierOf('T0'), await countOf('tenant=T0')]).toEqual(['mixed', 641]);
  },
);
for (const format of formats) {
  check(
    `exports of both tiers as ${format}, streamed and as a job, have as many rows as the tree`,
    async () => {
      const { rowCount, rows } = await day.download(format, { tenant: 'T0' });
      const { id } = await createJob(day.service, format, { tenant: 'T0' });
      const job = await untilCompleted(day.service, id);
      const file = await downloadFile(day.service, id);
      const inFile = await day.countRows(format, file);
      expect([rowCount, rows, job.rows_total, inFile]).toEqual([641, 641, 641, 641]);
      expect((await day.download(format, { tenant: 'T0', version })).rows).toBe(150);
    },
  );
}
check('a verification finds all right', async () => {
  expect(await verifyAll(day.service)).toMatchObject({ ok: true, problem_count: 0 });
});
check('a verification names an object that nobody knows', async () => {
  const key = 'records/tenant=T0/2001-01-01_2001-01-02_seg_orphan.parquet';
  const path = join(day.dataDir, 'cold', key);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'no segment');
  const { ok, problems } = await verifyAll(day.service);
  expect([ok, problems]).toMatchObject([false, [{ kind: 'object_orphan', object_key: key }]]);
  await rm(path);
});

const erased = { tenant: 'T0', event_ids: ['e0', 'e1', 'late0', 'nobody'] };
check('nothing of a tenant on hold is erased', async () => {
  await call('PUT', '/retention/policies/T0', { hot_days: 30, hold: true });
  const { code } = await call('POST', '/enrichment/erase', erased, 409);
  expect(code).toBe('tenant_on_hold');
  await call('DELETE', '/retention/policies/T0', undefined, 204);
});
check('records are erased in both tiers, after a dry run has told which', async () => {
  const counts = { erased: { count: 3 }, hot_count: 1, cold_count: 2, not_found: ['nobody'] };
  const told = await call('POST', '/enrichment/erase', { ...erased, dry_run: true });
  expect(told).toMatchObject({ dry_run: true, ...counts });
  expect(await call('POST', '/enrichment/erase', erased)).toMatchObject(counts);
  expect(await countOf('tenant=T0')).toBe(638);
  const ids = await idsFound({ tenant: 'T0', limit: '500' });
  expect(ids.filter((id) => erased.event_ids.includes(id))).toEqual([]);
});
check('the version says that it was changed by the erasure, and what is left', async () => {
  const found = await waitFor('the version to be counted again', async () => {
    const shown = await get(`/enrichment/dataset-versions/${version}`);
    return shown.state === 'counting' ? undefined : shown;
  });
  expect(found).toMatchObject({ change: 'erased', count: 150, current: { count: 149 } });
});
check('a policy deletes whole days, except those of a version', async () => {
  await call('PUT', '/retention/policies/*', { hot_days: 30, delete_days: 365 });
  await runRetention(day.service);
  const { data } = await get('/enrichment/datasets?level=tenant');
  expect(data.map((row: { tenant: string }) => row.tenant)).toEqual(['T0', 'T1']);
  expect(await countOf('tenant=T0')).toBe(await countOf('tenant=T0&month=2001-01'));
  expect(await verifyAll(day.service)).toMatchObject({ ok: true });
});

check('what was replaced, deleted or erased is gone from the store within seconds', async () => {
  await waitFor('the removals', async () => {
    const [left] = await query(
      day.databaseUrl,
      'select count(*)::int as count from object_removals',
    );
    return left?.count === 0;
  });
  const live = await query(day.databaseUrl, 'select object_key as key from segments order by 1');
  const folder = join(day.dataDir, 'cold', 'records');
  const there = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(day.dataDir, 'cold').length + 1));
  expect(new Set(there)).toEqual(new Set(live.map(({ key }) => key)));
});

let endpoint: string;
check('an incident is delivered, signed, with its payload', async () => {
  endpoint = await addEndpoint(day.service, receiver.url('/hook'));
  const [delivery] = await report(day.service);
  await untilDelivery(day.service, delivery?.id ?? '', 'delivered');
  const [request] = receiver.requests;
  expect(request?.headers['webhook-signature']).toMatch(/^v1,/);
  expect(JSON.parse(request?.body ?? '')).toMatchObject({ type: 'incident.created' });
});
check('the same idempotency key gives the same answer, with another body 409', async () => {
  const body = { tenant: 'TX', type: 'incident.created', data: 1, idempotency_key: 'k' };
  const one = await call('POST', '/incidents', body, 202);
  expect((await call('POST', '/incidents', body, 202)).id).toBe(one.id);
  await call('POST', '/incidents', { ...body, data: 2 }, 409);
});
let dead: string[];
check('what a receiver refuses goes to the dead-letter queue, in groups', async () => {
  receiver.behave(() => answer(500));
  await call('PATCH', `/webhook/endpoints/${endpoint}`, { max_attempts: 1 });
  dead = (await report(day.service, 3)).map(({ id }) => id);
  for (const id of dead) await untilDelivery(day.service, id, 'abandoned');
  const { data } = await get('/webhook/dlq/groups?status=abandoned');
  expect(data).toMatchObject([{ endpoint_id: endpoint, failure_class: 'status', count: 3 }]);
  await expectDeadLetterCountsTrue(day.databaseUrl);
});
check('one dead letter is sent again, the others by a job', async () => {
  receiver.behave(() => answer(204));
  await call('POST', `/webhook/dlq/${dead[0]}/retry`, undefined, 202);
  await untilDelivery(day.service, dead[0] ?? '', 'delivered');
  const filter = { status: 'abandoned', tenant: 'TX' };
  const told = await call('POST', '/webhook/dlq/retry', { ...filter, dry_run: true });
  expect(told.count).toBe(2);
  await call('POST', '/webhook/dlq/retry', filter, 202);
  for (const id of dead) await untilDelivery(day.service, id, 'delivered');
  expect((await get('/webhook/dlq?status=abandoned')).total).toBe(0);
});
check('what is reported for a disabled endpoint waits, and goes when it is enabled', async () => {
  await call('PATCH', `/webhook/endpoints/${endpoint}`, { enabled: false });
  const [delivery] = await report(day.service);
  const id = delivery?.id ?? '';
  expect(await get(`/webhook/dlq/${id}`)).toMatchObject({ waits_for_endpoint: true });
  await call('PATCH', `/webhook/endpoints/${endpoint}`, { enabled: true });
  await untilDelivery(day.service, id, 'delivered');
});
check('without a drainer deliveries are queued, and svcctl drain delivers them', async () => {
  await day.restart({ SVC_ROLES: 'api' });
  const [delivery] = await report(day.service);
  const id = delivery?.id ?? '';
  expect(await get(`/webhook/dlq/${id}`)).toMatchObject({ status: 'queued' });
  const { code, output } = await day.run('drain');
  expect(code, output).toBe(0);
  await untilDelivery(day.service, id, 'delivered');
});

check(
  'a token for one tenant sees that one alone, writes nothing, and is refused once revoked',
  async () => {
    const request = { name: 'reader', preset: 'support-readonly', tenants: ['T1'] };
    const { id, token } = await call('POST', '/tokens', request, 201);
    const tree = await day.service.call('GET', '/enrichment/datasets?level=tenant', { token });
    expect(tree.json.data).toMatchObject([{ tenant: 'T1', count: 60 }]);
    const body = { records: [first] };
    const refused = await day.service.call('POST', '/enrichment/records', { token, body });
    expect(refused.status).toBe(403);
    await call('DELETE', `/tokens/${id}`, undefined, 204);
    expect((await day.service.call('GET', '/me', { token })).status).toBe(401);
  },
);
check('the audit log tells who did what', async () => {
  const actions = async (query: string) =>
    (await get(`/audit?limit=500&${query}`)).data.map(({ action }: { action: string }) => action);
  expect((await actions('action=token.')).slice(0, 2)).toEqual(['token.revoke', 'token.create']);
  expect(await actions('tenant=T0')).toEqual(expect.arrayContaining(['tag.create']));
});
check('doctor can look at everything of the database', async () => {
  const { findings } = await get('/doctor');
  const unlooked = findings.filter(
    ({ severity }: { severity: string }) => severity === 'unchecked',
  );
  expect(unlooked.map(({ check: name, found }: Record<string, string>) => [name, found])).toEqual(
    [],
  );
});
check('after a restart everything is as it was', async () => {
  await day.restart();
  expect(await countOf('level=tenant&tenant=T1')).toBe(60);
  expect(await verifyAll(day.service)).toMatchObject({ ok: true });
});
check('no statement of the whole pass was one that the cluster cannot do', async () => {
  // What the service expects and does again, or what it asks the database to find out.
  const expected =
    /duplicate key value|violates unique constraint|SV001|lock timeout|canceling|could not serialize|deadlock detected/;
  const errors = (await day.listErrors()).filter((line) => !expected.test(line));
  expect(errors).toEqual([]);
});
