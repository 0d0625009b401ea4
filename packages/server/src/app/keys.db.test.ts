import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { ringOf } from '../../test/keyring.ts';
import { useReceiver } from '../../test/receiver.ts';
import { useTestService } from '../../test/service.ts';
import { loadSettings, usualWaits } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';
import { createSecretBox, findKeyring, makeNextKeyFile, setSealingKey } from '../webhooks/index.ts';
import { listKeys, replaceLostKey, rotateKeys } from './keys.ts';

// A key is known to a process with its next beat.
const waits = { beatMillis: 1000, keysMillis: 100 };

const service = useTestService(
  { SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_RATE_LIMIT: '0' },
  undefined,
  { waits },
);
const receiver = useReceiver();

const settingsWith = (env = {}) =>
  loadSettings({ DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir, ...env });
const log = createLog('silent');
const list = async () => (await listKeys(settingsWith(), log)).keys;

async function rotate({ env = {}, waitSeconds = 60 } = {}) {
  const steps: string[] = [];
  const settings = { ...settingsWith(env), waits: { ...usualWaits, ...waits } };
  const report = await rotateKeys({
    settings,
    log,
    waitSeconds,
    signal: new AbortController().signal,
    onStep: (text) => steps.push(text),
  });
  return { ...report, steps };
}

async function make(tenant: string, more: object = {}): Promise<{ id: string; secret: string }> {
  const body = { tenant, url: receiver.url(`/${tenant}`), ...more };
  return (await service.call('POST', '/webhook/endpoints', { body })).json;
}

const report = (tenant: string) =>
  service.call('POST', '/incidents', { body: { tenant, type: 'a.b', data: {} } });

/** Verifies what came for a tenant, and returns how many that is. */
function verify(tenant: string, secret: string): number {
  const came = receiver.requests.filter(({ path }) => path === `/${tenant}`);
  for (const { body, headers } of came) new Webhook(secret).verify(body, { ...headers });
  return came.length;
}

test('keys are rotated while webhooks are sent, and every one of them is signed as before', async () => {
  const { id, secret: first } = await make('A', {
    headers: { 'X-Key': 'k' },
    delivery: { asymmetric: true },
  });
  const { secret } = (await service.call('POST', `/webhook/endpoints/${id}/rotate-secret`)).json;
  const target = await service.call('POST', '/notify/targets', {
    body: { kind: 'webhook', url: receiver.url('/notices') },
  });
  const [before] = await list();
  expect(before).toMatchObject({ seals: true, secrets: 5, processes: 1 });
  let isDone = false;
  let reported = 0;
  const sending = (async () => {
    while (!isDone || reported <= 10) {
      expect((await report('A')).status).toBe(202);
      reported += 1;
      await receiver.waitFor(reported);
      await pause(50);
    }
  })();
  const done = await rotate().finally(() => {
    isDone = true;
  });
  expect(reported).toBeGreaterThan(0);
  await sending;
  const [after] = done.keys;
  expect(done.keys).toMatchObject([
    { seals: true, secrets: 5, processes: 1 },
    { id: before?.id, seals: false, is_known: true, secrets: 0 },
  ]);
  expect((await readdir(service.dataDir)).sort()).toContain(`secret-key.${before?.id}`);
  expect(verify('A', secret)).toBe(reported);
  expect(verify('A', first)).toBe(reported);
  const ofA = receiver.requests.filter(({ path }) => path === '/A');
  expect(new Set(ofA.map(({ headers }) => headers['x-key']))).toEqual(new Set(['k']));
  for (const { headers } of ofA) expect(headers['webhook-signature']).toContain(' v1a,');
  // What is made from now on is sealed with the new key, and what was made before still opens.
  await make('B');
  expect((await list())[0]).toMatchObject({ id: after?.id, secrets: 6 });
  const tried = await service.call('POST', `/notify/targets/${target.json.id}/test`);
  expect(tried.json).toMatchObject({ delivered: true });
  // So is the audit log, with all that was sealed before.
  const { ok, seal } = (await service.call('POST', '/audit/verify', { body: {} })).json;
  expect({ ok, seal }).toMatchObject({ ok: true, seal: { key_id: after?.id } });
  const [entry] = (await service.call('GET', '/audit?limit=1&action=key.rotate')).json.data;
  expect(entry).toMatchObject({
    target: after?.id,
    after: { key: after?.id, key_before: before?.id },
  });
});

test('doctor tells that the key is gone before a restart finds it', async () => {
  const told = async () => {
    const { findings } = (await service.call('GET', '/doctor')).json;
    return findings.filter(({ name }: { name: string }) => name === 'secret_key');
  };
  expect(await told()).toMatchObject([{ severity: 'ok', check: 'settings' }]);
  const path = join(service.dataDir, 'secret-key');
  await rename(path, `${path}.kept`);
  const [fault] = await told();
  await rename(`${path}.kept`, path);
  expect(fault).toMatchObject({
    severity: 'problem',
    command: 'svcctl keys ls',
    found: expect.stringMatching(/^the next start will fail: There is no .*secret-key/),
    remedy: expect.stringContaining('put the file secret-key back'),
  });
});

test('a process that does not know the new key keeps it from being used', async () => {
  const [before] = await list();
  await service.db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, secret_keys)
    values ('prc_other', 'far', 7, '0', 'v20', '{drainer}', '{}', array[${before?.id}])`);
  const trying = rotate({ waitSeconds: 0 });
  await expect(trying).rejects.toMatchObject({ code: 'keys_unknown' });
  await expect(trying).rejects.toThrow('far (process 7)');
  expect((await list())[0]).toMatchObject({ id: before?.id, seals: true });
  await service.db.query(sql`delete from processes where id = 'prc_other'`);
});

// The service of this file is stopped from here on: nobody has to be waited for.
test('a rotation that was killed is ended by the next one, and no other begun', async () => {
  await service.close();
  const [before] = await list();
  // The test before has left a new file that does not seal yet.
  const files = (await readdir(service.dataDir)).filter((name) => name.startsWith('secret-key'));
  const first = await rotate();
  expect(first.keys[0]?.id).not.toBe(before?.id);
  expect(first.keys[0]).toMatchObject({ secrets: 6 });
  // Killed after the new key sealed, before anything was sealed anew.
  await makeNextKeyFile(service.dataDir, first.keys[0]?.id ?? '');
  const { wanted } = await findKeyring(service.db, settingsWith());
  await setSealingKey(service.db, wanted);
  const second = await rotate();
  expect(second.keys[0]).toMatchObject({ id: wanted.id, secrets: 6 });
  expect(second.keys.slice(1).map(({ secrets }) => secrets)).toEqual([0, 0, 0]);
  const now = (await readdir(service.dataDir)).filter((name) => name.startsWith('secret-key'));
  expect(now).toHaveLength(files.length + 1);
});

test('secrets of the release before name their key and owner after the first rotation', async () => {
  const { db } = service;
  const { sealing } = await findKeyring(db, settingsWith());
  await db.query(sql`delete from signing_keys where name = 'webhook-secret-key-id'`);
  const old = createSecretBox({ ...ringOf(1), sealing, isBound: false });
  await db.query(sql`
    update webhook_endpoints set secret = ${old.seal('whsec_old', 'B')}, previous_secrets = '{}'
    where tenant = 'B'`);
  expect(await list()).toContainEqual(
    expect.objectContaining({ id: null, is_known: true, secrets: 1 }),
  );
  await rotate();
  const [row] = await db.query<{ id: string; secret: Buffer }>(
    sql`select id, secret from webhook_endpoints where tenant = 'B'`,
  );
  const box = createSecretBox(await findKeyring(db, settingsWith()));
  expect(box.open(row?.secret ?? Buffer.of(), row?.id ?? '')).toBe('whsec_old');
  expect(() => box.open(row?.secret ?? Buffer.of(), 'ep_other')).toThrow();
});

test('a secret whose key is lost stays as it is, and is told', async () => {
  const lost = createSecretBox(ringOf(9)).seal('whsec_lost', 'x');
  await service.db.query(sql`update webhook_endpoints set secret = ${lost} where tenant = 'B'`);
  const { keys } = await rotate();
  expect(keys.at(-1)).toMatchObject({ id: '09090909', is_known: false, secrets: 1 });
  expect(keys[0]).toMatchObject({ seals: true, secrets: 5 });
});

test('another key takes the place of one that is lost, once no process runs, and what went with it is named', async () => {
  const { db, dataDir } = service;
  const lose = () =>
    replaceLostKey({ settings: settingsWith(), log, signal: new AbortController().signal });
  await expect(lose()).rejects.toMatchObject({ code: 'usage_invalid' });
  const isKey = (name: string) => name.startsWith('secret-key');
  for (const name of (await readdir(dataDir)).filter(isKey)) await rm(join(dataDir, name));
  await expect(list()).rejects.toMatchObject({
    code: 'settings_invalid',
    detail: expect.stringMatching(/^There is no .*secret-key,.*keys rotate --lost/),
  });
  await db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings)
    values ('prc_other', 'far', 7, '0', 'v20', '{api}', '{}')`);
  const refused = { code: 'keys_in_use', detail: expect.stringContaining('far (process 7)') };
  await expect(lose()).rejects.toMatchObject(refused);
  expect((await readdir(dataDir)).filter(isKey)).toEqual([]);
  await db.query(sql`delete from processes`);
  const { keys, endpoints, targets } = await lose();
  expect(keys[0]).toMatchObject({ seals: true, is_known: true, secrets: 0 });
  const ids = await db.query<{ id: string }>(sql`select id from webhook_endpoints order by id`);
  expect(endpoints).toEqual(ids.map(({ id }) => id));
  expect(targets).toHaveLength(1);
  const [entry] = await db.query(
    sql`select target, after from audit_log where action = 'key.rotate' order by at desc limit 1`,
  );
  const id = keys[0]?.id;
  expect(entry).toEqual({ target: id, after: { key: id, is_key_before_lost: true } });
  expect((await list())[0]).toMatchObject({ id, seals: true });
  await expect(lose()).rejects.toMatchObject({ code: 'usage_invalid' });
});

test('a key that is a setting is not made up: it takes another one', async () => {
  const key = 'correct horse battery staple, twice';
  const env = { SVC_SECRET_KEY: key };
  await rename(join(service.dataDir, 'secret-key'), join(service.dataDir, 'elsewhere'));
  await expect(rotate({ env })).rejects.toMatchObject({ code: 'settings_invalid' });
  await rename(join(service.dataDir, 'elsewhere'), join(service.dataDir, 'secret-key'));
  await service.db.query(sql`delete from signing_keys where name like 'webhook-secret-key%'`);
  await service.db.query(sql`delete from webhook_endpoints`);
  await service.db.query(sql`delete from notify_targets`);
  await findKeyring(service.db, settingsWith(env));
  await expect(rotate({ env })).rejects.toMatchObject({
    code: 'settings_invalid',
    detail: expect.stringContaining('SVC_SECRET_KEY_PREVIOUS'),
  });
  const next = {
    SVC_SECRET_KEY: 'another horse battery staple, twice',
    SVC_SECRET_KEY_PREVIOUS: key,
  };
  const { keys, steps } = await rotate({ env: next });
  expect(keys).toMatchObject([{ seals: true }, { seals: false, is_known: true }]);
  // The log is still sealed with the key before, which is nowhere any more.
  expect(steps.at(-1)).toContain('The audit log is not sealed with it');
  await expect(findKeyring(service.db, settingsWith(env))).rejects.toThrow('settings_invalid');
});
