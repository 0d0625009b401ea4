import sql, { type Sql } from 'sql-template-tag';
import { expect, onTestFinished, test } from 'vitest';
import { testOnOneServer, untilLockWaits } from '../../../test/one-server.ts';
import { startTestService, type TestService, useTestService } from '../../../test/service.ts';
import { findTokensByHash } from '../../access/queries.ts';
import { hashSecret } from '../../kernel/ids.ts';
import { sqlState } from './errors.ts';
import { tokensStand } from './token-check.ts';

/** No token is forgotten while a test runs: what refuses it is the statement that stores. */
const waits = { tokenMillis: 3_600_000 };
const service = useTestService({}, undefined, { waits });

type Made = { id: string; token: string };
let serial = 0;

function newRecord() {
  serial += 1;
  const [occurred_at, event_id] = ['2025-03-01T00:00:00Z', `e${serial}`];
  return { tenant: 'T', store: 'S', occurred_at, event_id, enrichment: { serial } };
}

const storing = {
  'an incident': (by: Made, at = service) => report(by, {}, at),
  'a record': (by: Made, at = service) => send(by, [newRecord()], at),
  'two records': (by: Made, at = service) => send(by, [newRecord(), newRecord()], at),
};
const kinds = Object.keys(storing) as (keyof typeof storing)[];

function report({ token }: Made, more: object = {}, at = service) {
  serial += 1;
  const body = { tenant: 'T', type: 'incident.created', data: { serial }, ...more };
  return at.call('POST', '/incidents', { token, body });
}

function send({ token }: Made, records: object[], at = service, query = '') {
  return at.call('POST', `/enrichment/records${query}`, { token, body: { records } });
}

/** A token that both processes know by now, if there are two. The first use of a token is noted in its row. */
async function makeKnown(more: object = {}, ...others: TestService[]): Promise<Made> {
  const made = await service.makeToken({ preset: 'pipeline', tenants: ['T', 'U'], ...more });
  await service.call('GET', '/me', made);
  for (const one of [service, ...others]) expect((await report(made, {}, one)).status).toBe(202);
  return made;
}

async function countStored(): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(sql`
    select (select count(*) from incidents) + (select count(*) from enrichment_records) as count`);
  return row?.count ?? 0;
}

const change = ({ id }: Made, what: Sql) =>
  service.db.query(sql`update access_tokens set ${what} where id = ${id}`);
const revoke = async ({ id }: Made, at = service) => {
  expect((await at.call('DELETE', `/tokens/${id}`)).status).toBe(204);
};
const rotate = (overlap_seconds: number) => async (made: Made) => {
  const path = `/tokens/${made.id}/rotate`;
  const answer = await service.call('POST', path, { body: { overlap_seconds } });
  expect(answer.status).toBe(200);
};

const losses: [string, (made: Made) => Promise<unknown>, number, string][] = [
  ['was revoked', revoke, 401, 'token_revoked'],
  ['has expired', (made) => change(made, sql`expires_at = now()`), 401, 'token_expired'],
  ['was rotated', rotate(0), 401, 'token_unknown'],
  ['lost a scope', (made) => change(made, sql`scopes = '{enrichment:read}'`), 403, 'scope_missing'],
  [
    'may come from elsewhere only',
    (made) => change(made, sql`addresses = '{10.0.0.0/8}'`),
    403,
    'address_refused',
  ],
];
test.each(
  losses.flatMap(([name, lose, status, code]) =>
    kinds.map((kind) => ({ name, lose, status, code, kind })),
  ),
)(
  '$kind by a token that $name since it was looked up is refused as ever, and not stored',
  async ({ lose, status, code, kind }) => {
    const made = await makeKnown();
    expect((await storing[kind](made)).status).toBeLessThan(300);
    await lose(made);
    const before = await countStored();
    expect((await storing[kind](made)).json).toMatchObject({ status, code });
    expect(await countStored()).toBe(before);
  },
);

test('what a token no longer reaches is refused as ever, and not stored', async () => {
  const made = await makeKnown();
  await change(made, sql`tenants = '{U}'`);
  const before = await countStored();
  const both = [newRecord(), { ...newRecord(), tenant: 'U' }];
  const { json } = await send(made, both);
  expect(json).toMatchObject({ accepted: 1, rejected: [{ index: 0, code: 'tenant_not_allowed' }] });
  await change(made, sql`tenants = '{V}'`);
  expect((await report(made)).json.errors).toMatchObject([{ path: '/tenant' }]);
  expect(await countStored()).toBe(before + 1);
});

test('a token whose row has changed otherwise is looked up, its use noted, and what it sends stored', async () => {
  const made = await makeKnown();
  const other = await makeKnown();
  for (const kind of kinds) {
    await change(made, sql`last_used_at = now() - interval '1 hour'`);
    expect((await storing[kind](made)).status).toBeLessThan(300);
    const [row] = await service.db.query(sql`
      select last_used_at > now() - interval '1 minute' as is_noted from access_tokens where id = ${made.id}`);
    expect(row).toEqual({ is_noted: true });
    await rotate(3600)(other);
    expect((await storing[kind](other)).status).toBeLessThan(300);
    Object.assign(other, await makeKnown());
  }
});

test('whatever a revoked token asks for that stores nothing is refused as well', async () => {
  const [made, record] = [await makeKnown(), newRecord()];
  await send(made, [record]);
  await report(made, { idempotency_key: 'again', data: 1 });
  await revoke(made);
  const before = await countStored();
  for (const answer of [
    await send(made, [record]),
    await send(made, [{ ...record, enrichment: {} }]),
    await send(made, [{ tenant: 'T' }]),
    await send(made, [{ ...record, tenant: 'elsewhere' }]),
    await send(made, [newRecord()], service, '?dry_run=true'),
    await send(made, []),
    await send(made, Array.from({ length: 501 }, newRecord)),
    await report(made, { idempotency_key: 'again', data: 1 }),
    await report(made, { idempotency_key: 'again', data: 2 }),
    await report(made, { tenant: 'elsewhere' }),
    await report(made, { type: 7 }),
    await service.call('POST', '/incidents', { ...made, body: '{', headers: asJson }),
  ]) {
    expect(answer.json).toMatchObject({ status: 401, code: 'token_revoked' });
  }
  expect(await countStored()).toBe(before);
});
const asJson = { 'content-type': 'application/json' };

test('what another process revokes stores nothing in this one', async () => {
  const options = { original: service, waits };
  const other = await startTestService(
    { DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir },
    undefined,
    options,
  );
  onTestFinished(() => other.stop());
  const made = await makeKnown({}, other);
  await revoke(made, other);
  const before = await countStored();
  for (const at of [service, other]) {
    for (const kind of kinds) {
      expect((await storing[kind](made, at)).json).toMatchObject({ code: 'token_revoked' });
    }
  }
  expect(await countStored()).toBe(before);
});

test.each(['an incident', 'a record'] as const)(
  'of 32 callers who store %s together only the one whose token was revoked is refused',
  async (kind) => {
    const callers = await Promise.all(Array.from({ length: 32 }, () => makeKnown()));
    const gone = callers[20] as Made;
    await revoke(gone);
    const before = await countStored();
    const answers = await Promise.all(callers.map((one) => storing[kind](one)));
    const refused = answers.flatMap(({ status }, at) => (status < 300 ? [] : [[at, status]]));
    expect(refused).toEqual([[20, 401]]);
    expect(await countStored()).toBe(before + 31);
  },
);

test('a statement that checks several tokens fails if one of them has expired, whatever else is the same', async () => {
  const checks = await Promise.all(
    Array.from({ length: 32 }, async () => {
      const { id, token } = await makeKnown();
      return { id, version: await versionOf(token), isMade: false };
    }),
  );
  const check = () => service.db.query(sql`select ${tokensStand(checks)} as do_stand`);
  const [last] = checks.slice(-1);
  expect(await check()).toEqual([{ do_stand: true }]);
  const [expired] = await service.db.query<{ version: string }>(sql`
    update access_tokens set expires_at = now() where id = ${last?.id} returning xmin::text as version`);
  Object.assign(last ?? {}, expired);
  expect(sqlState(await check().catch((error: unknown) => error))).toBe('SV002');
});

async function versionOf(secret: string): Promise<string> {
  const [row] = await findTokensByHash(service.db, [hashSecret(secret)]);
  return row?.version ?? 'none';
}

test('what more than its own row decides about is looked up each time', async () => {
  const [ofPerson, rotated, unused] = [await makeKnown(), await makeKnown(), await makeKnown()];
  expect(await versionOf(ofPerson.token)).toMatch(/^\d+$/);
  await change(ofPerson, sql`person_id = ${rotated.id}`);
  await rotate(3600)(rotated);
  await change(unused, sql`last_used_at = null`);
  for (const { token } of [ofPerson, rotated, unused]) expect(await versionOf(token)).toBe('none');
});

testOnOneServer(
  'a revocation is answered when nothing that it could not stop is stored any more',
  async () => {
    const [made, other] = [await makeKnown(), await makeKnown()];
    await send(made, [newRecord()]);
    const isRevoked = sql`select revoked_at is not null as is_revoked from access_tokens where id = ${made.id}`;
    let isAnswered = false;
    let answers: Promise<{ status: number }>[] = [];
    await service.db.transaction(async (connection) => {
      await connection.query(sql`select from leaf_tenants where tenant = 'T' for update`);
      const sent = send(made, [newRecord()]);
      await untilLockWaits(service.db);
      const revoked = service.call('DELETE', `/tokens/${made.id}`).then((answer) => {
        isAnswered = true;
        return answer;
      });
      answers = [sent, revoked];
      await untilLockWaits(service.db, 2);
      expect(await service.db.query(isRevoked)).toEqual([{ is_revoked: true }]);
      // Whoever comes meanwhile is looked up, and waits for nobody.
      const record = { ...newRecord(), tenant: 'U' };
      expect((await send(made, [record])).json).toMatchObject({ code: 'token_revoked' });
      expect((await send(other, [record])).json).toMatchObject({ accepted: 1 });
      expect(isAnswered).toBe(false);
    });
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 204]);
  },
);
