import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';

const service = useTestService({ SVC_ROLES: 'api,retention' });

const path = '/retention/verify';
const get = async (id: string, token?: string) =>
  service.call('GET', `${path}/${id}`, token === undefined ? {} : { token });
const ask = async (body: object, token?: string) =>
  service.call('POST', path, { body, ...(token === undefined ? {} : { token }) });

/** Asked for, and done. */
async function verified(body: object, token?: string) {
  const { json } = await ask(body, token);
  await expect
    .poll(async () => (await get(json.id)).json.state, { timeout: 120_000 })
    .toBe('completed');
  return (await get(json.id)).json;
}

test('an unknown one answers 404, a wrong field, limit or cursor 400', async () => {
  for (const id of ['vrf_1', 'no.id']) {
    expect((await get(id)).json).toMatchObject({ status: 404, code: 'verification_not_found' });
  }
  expect((await ask({ tenants: 'TX' })).json).toMatchObject({ code: 'request_invalid' });
  expect((await service.call('GET', `${path}?limit=0`)).status).toBe(400);
  expect((await service.call('GET', `${path}?cursor=abc`)).json.code).toBe('cursor_invalid');
});

test('one that is asked for is queued, done, and on record', async () => {
  const answer = await ask({ tenant: 'TX' });
  expect(answer.status, answer.text).toBe(202);
  expect(answer.json).toMatchObject({
    state: 'queued',
    ok: null,
    tenant: 'TX',
    requested_by: 'first admin',
    segments_total: null,
    problems: [],
  });
  const done = await verified({});
  expect(done).toMatchObject({ state: 'completed', ok: true, tenant: null, problem_count: 0 });
  const audit = await service.call('GET', '/audit?action=retention.verify');
  expect(audit.json.data[1]).toMatchObject({ target: answer.json.id, tenant: 'TX' });
});

test('the body may be left out', async () => {
  expect((await service.call('POST', path)).status).toBe(202);
});

test('a counter that is wrong is found and told', async () => {
  await service.db.query(sql`
    insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at)
    values ('wrong', 1, 100, 5, now(), now())`);
  const { ok, problem_count, problems } = await verified({});
  expect({ ok, problem_count }).toEqual({ ok: false, problem_count: 1 });
  expect(problems).toEqual([
    {
      kind: 'counter_mismatch',
      tenant: 'wrong',
      object_key: null,
      store: null,
      first_day: null,
      last_day: null,
      message: expect.stringContaining(
        'wrong: the counter leaf_tenants says 1 record, 100 bytes, digest 0000000000000005; its days add up to 0 records, 0 bytes, digest 0000000000000000.',
      ),
    },
  ]);
  await service.db.query(sql`delete from leaf_tenants`);
});

test('they are listed latest first, over pages', async () => {
  const ids = (await service.call('GET', path)).json.data.map((row: { id: string }) => row.id);
  const first = (await service.call('GET', `${path}?limit=2`)).json;
  const second = (await service.call('GET', `${path}?limit=100&cursor=${first.next_cursor}`)).json;
  expect([...first.data, ...second.data].map((row) => row.id)).toEqual(ids);
  expect(second.next_cursor).toBeNull();
});

test('a token limited to tenants verifies those, and sees no other', async () => {
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['A', 'B'] });
  const { token: lesser } = await service.makeToken({ preset: 'admin', tenants: ['A'] });
  const whole = await verified({});
  const both = await verified({}, token);
  const ofA = await verified({ tenant: 'A' }, token);
  const foreign = await verified({ tenant: 'TX' }, token);
  expect(foreign).toMatchObject({ ok: true, segments_total: 0 });
  const seen = async (id: string, seer: string) => (await get(id, seer)).status === 200;
  expect(await Promise.all([whole, both, ofA].map(({ id }) => seen(id, token)))).toEqual([
    false,
    true,
    true,
  ]);
  expect(await Promise.all([whole, both, ofA].map(({ id }) => seen(id, lesser)))).toEqual([
    false,
    false,
    true,
  ]);
  const listed = (await service.call('GET', path, { token: lesser })).json.data;
  expect(listed.map((row: { id: string }) => row.id)).toEqual([ofA.id]);
});
