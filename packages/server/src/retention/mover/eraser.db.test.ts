import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { useTestService } from '../../../test/service.ts';

const service = useTestService({ SVC_COLD_GRACE_SECONDS: '0' });

const day = '2020-02-28';
const record = (tenant: string, n: number, more: Record<string, unknown> = {}) => ({
  tenant,
  store: 'S1',
  event_id: `e${n}`,
  occurred_at: `${day}T12:00:00.${String(n).padStart(6, '0')}Z`,
  enrichment: { n },
  ...more,
});

function ingest(...records: unknown[]) {
  return service.call('POST', '/enrichment/records', { body: { records } });
}

function erase(body: Record<string, unknown>, token = service.adminToken) {
  return service.call('POST', '/enrichment/erase', { body, token });
}

/** Ten records, cold. */
async function seedCold(tenant: string): Promise<void> {
  await ingest(...Array.from({ length: 10 }, (_, n) => record(tenant, n)));
  await service.retain({ tenant });
  const tree = await service.call('GET', `/retention/tenants?q=${tenant}`);
  expect(tree.json.data).toMatchObject([{ tenant, hot_count: 0, cold_count: 10 }]);
}

test.each([
  ['no tenant', { store: 'S' }],
  ['a tenant alone', { tenant: 'T' }],
  ['an unknown field', { tenant: 'T', store: 'S', month: '2020-02' }],
  ['no event id', { tenant: 'T', event_ids: [] }],
  ['an event id twice', { tenant: 'T', event_ids: ['a', 'a'] }],
  ['a day that does not exist', { tenant: 'T', from: '2020-02-30', to: '2020-03-01' }],
])('answers 400 to %s', async (_name, body) => {
  const answer = await erase(body);
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({ code: 'request_invalid', errors: [expect.anything()] });
  expect(answer.json.detail).not.toMatch(/^:/);
});

test('late records are told from cold ones, and erased ones come back as new', async () => {
  await seedCold('cycle');
  const late = await ingest(
    record('cycle', 3),
    record('cycle', 4, { kind: 'other' }),
    record('cycle', 20),
  );
  expect(late.json).toMatchObject({ accepted: 1, duplicates: 1, rejected_count: 1 });

  const request = { tenant: 'cycle', event_ids: ['e3', 'e4', 'e20', 'none'] };
  const dry = await erase({ ...request, dry_run: true });
  const plan = await service.call('POST', '/enrichment/erase/plan', { body: request });
  expect({ ...plan.json, requested_at: '' }).toEqual({ ...dry.json, requested_at: '' });
  expect(dry.json).toMatchObject({ erased: { count: 3 }, hot_count: 1, cold_count: 2 });
  const receipt = await erase(request);
  expect(receipt.status).toBe(200);
  expect(receipt.json).toMatchObject({ erased: dry.json.erased, not_found: ['none'] });
  const move = await service.call('GET', `/retention/moves/${receipt.json.id}`);
  expect(move.json).toMatchObject({ kind: 'erase', gone: receipt.json.erased });

  const tree = await service.call('GET', '/enrichment/datasets?tenant=cycle');
  expect(tree.json.data).toMatchObject([{ count: 8 }]);
  const again = await ingest(record('cycle', 3), record('cycle', 5));
  expect(again.json).toMatchObject({ accepted: 1, duplicates: 1 });
  const page = await service.call('GET', '/enrichment/records?tenant=cycle');
  expect(page.json.data.map((row: { event_id: string }) => row.event_id)).toEqual([
    'e0',
    'e1',
    'e2',
    'e3',
    'e5',
    'e6',
    'e7',
    'e8',
    'e9',
  ]);
});

test('an erasure is in the audit log with its reason, without the event ids', async () => {
  await ingest(record('audited', 1));
  const answer = await erase({ tenant: 'audited', event_ids: ['e1'], reason: 'ticket 4711' });
  expect(answer.json.reason).toBe('ticket 4711');
  const log = await service.call('GET', '/audit?tenant=audited');
  const entry = log.json.data.find((one: { action: string }) => one.action === 'records.erase');
  expect(entry.after).toMatchObject({
    event_ids: 1,
    count: 1,
    hot_count: 1,
    reason: 'ticket 4711',
  });
  const refused = await erase({ tenant: 'audited', event_ids: ['e2'], reason: 'a\u0000' });
  expect(refused.status).toBe(400);
  expect(JSON.stringify(entry)).not.toContain('e1"');
});

test('a receipt is read again as it was answered, but for the event ids, by who may read the audit log of the tenant', async () => {
  await seedCold('receipt');
  const report = { tenant: 'receipt', type: 'a.b', data: { event: 'nobody' } };
  await service.call('POST', '/incidents', { body: report });
  const request = { tenant: 'receipt', incidents: true, reason: 'ticket 4711' };
  const both = await erase({ ...request, event_ids: ['e3', 'nobody'] });
  const none = await erase({ ...request, event_ids: ['nobody'] });
  expect(both.json).toMatchObject({ erased: { count: 1 }, incidents: { count: 1 } });
  expect(none.json).toMatchObject({ erased: { count: 0 }, not_found_count: 1 });
  const read = (id: string, token = service.adminToken) =>
    service.call('GET', `/enrichment/erasures/${id}`, { token });
  for (const { json } of [both, none]) {
    expect(json.not_found).toEqual(['nobody']);
    const again = await read(json.id);
    // The replaced object may have been removed by now.
    const moving = { state: '', objects_removed_after: '', remains: [] };
    expect({ ...again.json, ...moving }).toEqual({ ...json, ...moving, not_found: [] });
    expect(again.text).not.toContain('nobody');
  }
  const whats = (await read(both.json.id)).json.remains.map(({ what }: { what: string }) => what);
  expect(whats).toEqual(expect.arrayContaining(['incidents', 'receivers', 'ids', 'wal']));
  expect(whats.filter((what: string) => what === 'wal')).toHaveLength(1);
  const tokenOf = async (preset: string, tenant: string) =>
    (await service.makeToken({ preset, tenants: [tenant] })).token;
  const readAs = async (preset: string, tenant: string) =>
    read(both.json.id, await tokenOf(preset, tenant));
  expect((await readAs('viewer', 'receipt')).status).toBe(403);
  expect((await readAs('auditor', 'receipt')).status).toBe(200);
  expect((await readAs('auditor', 'other')).json.code).toBe('erasure_not_found');
});

test('what went of incidents before their erasure broke off is in the receipt and in the audit log', async () => {
  const tenant = 'broken';
  const report = { tenant, type: 'a.b', data: { event: 'e1' } };
  await service.call('POST', '/incidents', { body: report });
  // One more than is erased at once, and the last one cannot be.
  await service.db.pool.query(`
    insert into incidents select (jsonb_populate_record(i, jsonb_build_object('id', i.id || n))).*
    from incidents i, generate_series(101, 200) n where tenant = 'broken';
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before update on incidents for each row when (old.id like '%200') execute function refuse()`);
  const request = { tenant, event_ids: ['e1'], incidents: true };
  expect((await erase(request)).status).toBe(500);
  const { json } = await service.call('GET', `/audit?tenant=${tenant}`);
  const [incidents, records] = ['incidents.erase', 'records.erase'].map((action) =>
    json.data.find((entry: { action: string }) => entry.action === action),
  );
  expect(incidents).toMatchObject({ after: { count: 100 } });
  const receipt = await service.call('GET', `/enrichment/erasures/${records.target}`);
  expect(receipt.json).toMatchObject({ incidents: { count: 100 } });
  await service.db.pool.query('drop trigger refuse on incidents; drop function refuse()');
  expect((await erase(request)).json).toMatchObject({ incidents: { count: 1 } });
});

test.each([
  ['an event', { event_ids: ['e1'] }],
  ['a subject', { subject: { field: 'n', value: '1' } }],
])(
  'while incidents of %s go, those that went are counted already, so that no kill can lose them',
  async (_name, whose) => {
    const tenant = Object.keys(whose).join();
    await ingest(record(tenant, 1));
    const report = { tenant, type: 'a.b', data: { event: 'e1' } };
    const { id } = (await service.call('POST', '/incidents', { body: report })).json;
    await service.db.query(sql`
      insert into incidents select (jsonb_populate_record(i, jsonb_build_object('id', i.id || n))).*
      from incidents i, generate_series(101, 200) n where i.id = ${id}`);
    const request = { tenant, ...whose, incidents: true };
    const notesOf = ({ remains }: { remains: { note: string }[] }) =>
      remains.map((one) => one.note);
    const unfinished = expect.stringContaining('Not all of them may have gone');
    const { target, erasing } = await service.db.transaction(async (connection) => {
      // The last one cannot go, and is not among the first hundred.
      await connection.query(sql`select from incidents where id = ${`${id}200`} for update`);
      const answer = erase(request);
      await untilLockWaits(service.db);
      const log = await service.call('GET', `/audit?tenant=${tenant}&action=incidents.erase`);
      expect(log.json.data).toMatchObject([{ after: { count: 100 } }]);
      const [entry] = log.json.data;
      const amid = await service.call('GET', `/enrichment/erasures/${entry.target}`);
      expect(amid.json).toMatchObject({ tenant, incidents: { count: 100 } });
      expect(notesOf(amid.json)).toContainEqual(unfinished);
      return { target: entry.target, erasing: answer };
    });
    const { json } = await erasing;
    expect(json).toMatchObject({ id: target, erased: { count: 1 }, incidents: { count: 101 } });
    expect(notesOf(json)).not.toContainEqual(unfinished);
  },
);

test('an error tells how many incidents of a subject went before it, once that is committed', async () => {
  await ingest(record('told', 1));
  const report = { tenant: 'told', type: 'a.b', data: { event: 'e1' } };
  await service.call('POST', '/incidents', { body: report });
  await service.db.pool.query(`create function no_room() returns trigger language plpgsql
    as $$ begin raise 'no room' using errcode = '53100'; end $$`);
  const request = { tenant: 'told', subject: { field: 'n', value: '1' }, incidents: true };
  const eraseAmid = async (trigger: string, table: string) => {
    await service.db.pool.query(`create ${trigger} on ${table}
      deferrable initially deferred for each row execute function no_room()`);
    const { json } = await erase(request);
    await service.db.pool.query(`drop trigger refuse on ${table}`);
    expect(json).toMatchObject({ code: 'database_full' });
    return json.detail;
  };
  // Only the commit fails.
  const ofIncidents = 'constraint trigger refuse after update';
  expect(await eraseAmid(ofIncidents, 'incidents')).not.toContain('of the subject went');
  const ofRecords = 'constraint trigger refuse after insert';
  expect(await eraseAmid(ofRecords, 'moves')).toContain(
    'before them 1 incident of the subject went',
  );
  await service.db.pool.query('drop function no_room()');
});

const kim = 'kim"=\'@example.com';
const ofKim = { field: 'passenger."e-mail"', value: kim };

/** What is stored of a tenant, by event id and the rest of the enrichment. */
async function left(tenant: string): Promise<string[]> {
  const { json } = await service.call('GET', `/enrichment/records?tenant=${tenant}&limit=100`);
  return json.data.map((row: { event_id: string }) => row.event_id);
}

test('a person is erased in both tiers and in incidents, and found nowhere afterwards', async () => {
  const about = (n: number, email: unknown) =>
    record('people', n, { enrichment: { n, passenger: { 'e-mail': email } } });
  await ingest(about(1, kim), about(2, [kim, 'other']), about(3, `x${kim}`), about(4, { a: kim }));
  await service.retain({ tenant: 'people' });
  await ingest(about(11, kim), about(12, null), about(13, ['other']), record('people', 14));
  const report = (data: unknown) =>
    service.call('POST', '/incidents', { body: { tenant: 'people', type: 'a.b', data } });
  const reported = [report({ who: [kim] }), report({ event: 'e11' }), report({ event: 'e12' })];
  const ids = (await Promise.all(reported)).map(({ json }) => json.id);

  const request = { tenant: 'people', subject: ofKim, incidents: true };
  const plan = await service.call('POST', '/enrichment/erase/plan', { body: request });
  const expected = { erased: { count: 3 }, hot_count: 1, cold_count: 2, incidents: { count: 2 } };
  expect(plan.json).toMatchObject({ ...expected, not_found: [] });
  expect(await left('people')).toHaveLength(8);
  const receipt = await erase(request);
  expect(receipt.json).toMatchObject({ ...expected, erased: plan.json.erased });
  expect(await left('people')).toEqual(['e3', 'e4', 'e12', 'e13', 'e14']);
  const states = await Promise.all(ids.map((id) => service.call('GET', `/incidents/${id}`)));
  expect(states.map(({ json }) => json.erased_at !== null)).toEqual([true, true, false]);
  expect((await erase(request)).json).toMatchObject({
    id: expect.stringMatching(/^ers_/),
    erased: { count: 0 },
  });

  const again = await service.call('GET', `/enrichment/erasures/${receipt.json.id}`);
  expect(again.json).toMatchObject({ erased: plan.json.erased, incidents: { count: 2 } });
  const told = [
    again,
    await service.call('GET', `/retention/moves/${receipt.json.id}`),
    await service.call('GET', '/audit?tenant=people'),
  ];
  for (const { text } of told) expect(text).not.toContain('@example.com');
  expect(told[2]?.text).toContain(JSON.stringify({ subject_field: ofKim.field }).slice(1, -1));
});

test('a value that is spelled as a number stands for that number, too, and for no other', async () => {
  const values = [7, 7.0, '7', '7.0', [1, 7], 70, true];
  const records = values.map((id, n) => record('numbers', n, { enrichment: { id } }));
  await ingest(...records);
  const plan = (value: string) =>
    erase({ tenant: 'numbers', subject: { field: 'id', value }, dry_run: true });
  expect((await plan('7')).json.erased.count).toBe(4);
  expect((await plan('7.0')).json.erased.count).toBe(4);
  expect((await plan('true')).json.erased.count).toBe(0);
});

test.each(['kind', 'a b', 'enrichment', 'a = 1 or b'])(
  'answers 400 to the field %s',
  async (field) => {
    const answer = await erase({ tenant: 'T', subject: { field, value: 'x' }, dry_run: true });
    expect(answer.json).toMatchObject({ status: 400, errors: [{ code: 'where_invalid' }] });
  },
);
