import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeCertificate } from '../../../test/receiver.ts';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = { path: '' };
beforeAll(async () => {
  folder.path = await mkdtemp(join(tmpdir(), 'svcctl-as-code-'));
});
afterAll(() => rm(folder.path, { recursive: true }));

const { cli, ok, jsonOf } = useServiceCli(
  { SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_FOUR_EYES: 'lift_hold' },
  folder,
);
const put = (name: string, text: string) => writeFile(join(folder.path, name), text);

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const env = { SHOP_AUTHORIZATION: 'Bearer hush', SHOP_HMAC: 'hush-hush' };

const isShop = ({ uid }: { uid: string }) => uid === 'shop';

/** The example of the docs, with addresses that a test may register. */
async function example(): Promise<string> {
  const docs = await readFile(new URL('../../../../../docs/as-code.md', import.meta.url), 'utf8');
  const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(docs) ?? [];
  return text.replace(/https:\/\/[a-z]+\.acme\.example/g, 'http://127.0.0.1:9');
}

test('applies the example of the docs, and then finds nothing to do', async () => {
  await put('svcctl.yaml', await example());
  const dry = await cli('apply svcctl.yaml --dry-run');
  expect(dry.code).toBe(2);
  expect(dry.stdout).toContain('+ endpoint TX/shop\n');
  expect(dry.stderr).toContain('config_differs');
  const missing = await cli('apply svcctl.yaml --yes');
  expect(missing.code).toBe(2);
  expect(missing.stderr).toMatch(/SHOP_[A-Z]+ is not set|shop.secret cannot be read/);
  expect(await jsonOf('event-types ls --json type')).toEqual([]);

  await put('shop.secret', `${secret}\n`);
  const done = await ok('apply svcctl.yaml --yes', { env });
  const secrets = done.stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  expect(secrets).toEqual([
    ['token pipeline', expect.stringMatching(/^svc_/)],
    ['target of notices http://127.0.0.1:9/svcctl', expect.stringMatching(/^whsec_/)],
    ['endpoint TX/shop', secret],
    ['endpoint TX/archive', expect.stringMatching(/^whsec_/)],
  ]);
  expect(done.stderr).toContain('6 made · 0 changed · 0 removed');
  expect(`${dry.stdout}${dry.stderr}${done.stderr}`).not.toMatch(/hush|whsec_/);
  const made = (await jsonOf('endpoints ls --json')).find(isShop);
  expect(made).toMatchObject({
    uid: 'shop',
    name: 'The shop',
    labels: { team: 'shop' },
    rate_limit: 50,
    event_types: ['order.*'],
    header_names: ['Authorization'],
  });
  for (const words of ['apply svcctl.yaml --prune', 'apply svcctl.yaml --dry-run --prune']) {
    expect(await ok(words)).toMatchObject({ stdout: '', stderr: 'Nothing differs.\n' });
  }
});

test('what is exported changes nothing when it is applied, also of what was made by hand', async () => {
  const url = 'http://127.0.0.1:9/by-hand?key=1';
  await ok(
    `endpoints create --tenant TX --url ${url} --retry-schedule 300,5 --store S2 S1 --disabled`,
  );
  const { stdout } = await ok('export-config');
  await put('exported.yaml', stdout);
  expect(parse(stdout)).toMatchObject({
    endpoints: expect.arrayContaining([
      expect.objectContaining({ url, enabled: false, retry_schedule: [300, 5] }),
      expect.objectContaining({ uid: 'shop' }),
    ]),
    tokens: [{ name: 'pipeline' }],
  });
  expect(stdout).not.toMatch(/whsec_|svc_/);
  expect((await ok('apply exported.yaml --dry-run --prune')).stderr).toBe('Nothing differs.\n');
});

test('changes what differs, and takes away only what is asked for', async () => {
  const changed = (await example())
    .replace('hot_days: 30\n    delete_days: 365', 'hot_days: 30\n    delete_days: 30')
    .replace('rate_limit: 50', 'max_attempts: 3')
    .replace('preset: pipeline', 'scopes: [incidents:write]')
    .replace('      Authorization:', '      X-Key:');
  await put('changed.yaml', changed);
  const dry = await cli('apply changed.yaml --dry-run --prune');
  const lines = dry.stdout.split('\n').filter((line) => line !== '');
  expect(lines).toEqual([
    '~ policy TX',
    '    delete_days: 365 → 30',
    '~ token pipeline',
    '    scopes: ["enrichment:write","incidents:write"] → ["incidents:write"]',
    '~ endpoint TX/shop',
    '    headers: ["authorization"] → ["x-key"]',
    '    max_attempts: none → 3',
    '    rate_limit: 50 → none',
    expect.stringMatching(/^- endpoint TX\/ep_/),
  ]);
  const refused = await cli('apply changed.yaml --prune', { env });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('--yes');
  const tokens = await jsonOf('tokens ls --json id,name');
  const done = await ok('apply changed.yaml --prune --yes', { env });
  expect(done.stderr).toContain('0 made · 3 changed · 1 removed');
  const left = await jsonOf('endpoints ls --json uid,header_names,rate_limit');
  expect(left).toHaveLength(2);
  expect(left.find(isShop)).toEqual({ uid: 'shop', header_names: ['X-Key'], rate_limit: null });
  const after = await jsonOf('tokens ls --json id,name');
  expect(after).toHaveLength(tokens.length);
  expect(after).not.toEqual(tokens);
  expect((await ok('apply changed.yaml --prune')).stderr).toBe('Nothing differs.\n');
});

const delivery = (more: string) => `endpoints:
  - tenant: SENT
    uid: sent
    url: http://127.0.0.1:9/sent
    headers: { X-Key: "\${SENT_KEY}" }
    delivery:
${more.replace(/^/gm, '      ')}
`;
const sentTo = (tenant: string) => jsonOf(`endpoints ls --tenant ${tenant} --json`);

test('applies how an endpoint is sent to, with secrets from elsewhere, and exports none of them', async () => {
  const { cert, key } = makeCertificate(['client'], { validUntil: new Date(Date.now() + 864e7) });
  await put('cert.pem', cert);
  await put('key.pem', key);
  const all = `timeout_seconds: 5
no_retry_on: [422, 400]
asymmetric: true
signature: { header: X-Sum, value: "{hex}", secret: "\${SENT_SIGNATURE_SECRET}" }
tls: { certificate: "@cert.pem", key: "@key.pem", ca: "@cert.pem" }`;
  const sent = { SENT_KEY: 'k', SENT_SIGNATURE_SECRET: 'hush-hush' };
  await put('sent.yaml', delivery(all));
  const done = await ok('apply sent.yaml', { env: sent });
  expect(`${done.stdout}${done.stderr}`).not.toMatch(/hush|BEGIN/);
  expect(await sentTo('SENT')).toMatchObject([
    {
      header_names: ['X-Key'],
      delivery: {
        timeout_seconds: 5,
        no_retry_on: [422, 400],
        public_key: expect.any(String),
        signature: { header: 'X-Sum', value: '{hex}', signs: '{body}', has_own_secret: true },
        tls: { certificate: expect.any(Object), ca: expect.any(Object) },
      },
    },
  ]);
  expect((await ok('apply sent.yaml')).stderr).toBe('Nothing differs.\n');
  const { stdout } = await ok('export-config');
  expect(stdout).not.toMatch(/hush|BEGIN|whpk_/);
  expect(parse(stdout).endpoints).toContainEqual(
    expect.objectContaining({
      delivery: {
        timeout_seconds: 5,
        no_retry_on: [422, 400],
        asymmetric: true,
        signature: {
          header: 'X-Sum',
          value: '{hex}',
          signs: '{body}',
          secret: '$' + '{SENT_SIGNATURE_SECRET}',
        },
        tls: {
          certificate: '$' + '{SENT_TLS_CERTIFICATE}',
          key: '$' + '{SENT_TLS_KEY}',
          ca: '$' + '{SENT_TLS_CA}',
        },
      },
    }),
  );
  await put('exported.yaml', stdout);
  expect((await ok('apply exported.yaml --prune')).stderr).toBe('Nothing differs.\n');

  // Another host is given what was meant for the one before only because the file names it with the URL.
  await put('sent.yaml', delivery(all).replace('127.0.0.1:9', '127.0.0.2:9'));
  await ok('apply sent.yaml', { env: sent });
  expect(await sentTo('SENT')).toMatchObject([
    { url: 'http://127.0.0.2:9/sent', header_names: ['X-Key'], delivery: { tls: { ca: {} } } },
  ]);
  expect((await ok('apply sent.yaml')).stderr).toBe('Nothing differs.\n');

  await put('sent.yaml', delivery('signature: { header: X-Sum, value: "{base64}" }'));
  await ok('apply sent.yaml', { env: sent });
  const left = { header: 'X-Sum', value: '{base64}', signs: '{body}', has_own_secret: false };
  expect((await sentTo('SENT'))[0].delivery).toEqual({ signature: left });
  expect((await ok('apply sent.yaml')).stderr).toBe('Nothing differs.\n');
});

test('applies an endpoint that is polled, which never becomes another', async () => {
  const polled = (more = '') =>
    put(
      'polled.yaml',
      `endpoints: [{tenant: POLLED, uid: p, type: pull, delivery: {expires_after_seconds: 60}${more}}]`,
    );
  await polled();
  expect((await ok('apply polled.yaml')).stdout).toMatch(/^endpoint POLLED\/p\twhsec_/);
  const [made] = await sentTo('POLLED');
  expect(made).toMatchObject({ type: 'pull', delivery: { expires_after_seconds: 60 } });
  const { stdout } = await ok('export-config');
  const exported = parse(stdout).endpoints.find((row: { uid: string }) => row.uid === 'p');
  const named = { tenant: 'POLLED', uid: 'p', type: 'pull' };
  expect(exported).toEqual({ ...named, delivery: { expires_after_seconds: 60 } });
  await put('exported.yaml', stdout);
  expect((await ok('apply exported.yaml --prune')).stderr).toBe('Nothing differs.\n');
  await polled(', name: Polled');
  await ok('apply polled.yaml');
  expect(await sentTo('POLLED')).toMatchObject([{ id: made.id, name: 'Polled', type: 'pull' }]);
  for (const faulty of [', url: "http://127.0.0.1:9/"', ', rate_limit: 5', ', headers: {A: @x}']) {
    await put('x', 'x');
    await polled(faulty);
    expect(await cli('apply polled.yaml')).toMatchObject({ code: 2 });
  }
  await put('polled.yaml', 'endpoints: [{tenant: POLLED, uid: p, url: "http://127.0.0.1:9/"}]');
  const refused = await cli('apply polled.yaml');
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain('type');
  expect(await sentTo('POLLED')).toMatchObject([{ id: made.id, type: 'pull' }]);
});

test.each([
  ['endpoints: [{tenant: T, uid: a, delivery: {tls: {key: PEM}}}]', 'do not stand in files'],
  [
    'endpoints: [{tenant: T, uid: a, delivery: {signature: {header: A, secret: open-text}}}]',
    'do not stand in files',
  ],
  [
    'endpoints: [{tenant: T, uid: a, url: "https://x.example", secret: whsec_abc}]',
    'do not stand in files',
  ],
  ['endpoints: [{tenant: T, uid: a, headers: {A: open}}]', 'do not stand in files'],
  ['endpoints: [{tenant: T, uid: a}, {tenant: T, uid: a}]', 'stands there twice'],
  ['endpoints: [{tenant: T}]', 'uid is missing'],
  ['endpoints: [{tenant: T, uid: a, color: red}]', 'no member color'],
  ['endpoint: []', 'no section endpoint'],
  ['tokens: [{name: a, preset: root}]', 'give either scopes or preset'],
  ['- a', 'it must have sections'],
  ['a: {', 'faulty.yaml'],
])('refuses %s before anything is done', async (text, told) => {
  await put('faulty.yaml', text);
  const { code, stderr } = await cli('apply faulty.yaml');
  expect(code).toBe(2);
  expect(stderr).toContain(told);
});

test('tells what the service refuses, and does the rest', async () => {
  await put(
    'partly.yaml',
    'event_types: [{type: Bad}, {type: good.one}]\nendpoints: [{tenant: TX, uid: x, url: "https://10.0.0.1/"}]\n',
  );
  const { code, stderr } = await cli('apply partly.yaml');
  expect(code).toBe(7);
  expect(stderr).toContain('✗ event type Bad');
  expect(stderr).toContain('✗ endpoint TX/x');
  expect((await ok('event-types show good.one --json type')).code).toBe(0);
});

test('what somebody else has to confirm waits, and the rest is done', async () => {
  await put('held.yaml', 'policies: [{tenant: HELD, hold: true}]\n');
  await ok('apply held.yaml');
  await put('lifted.yaml', 'policies: [{tenant: HELD}, {tenant: OTHER, hot_days: 9}]\n');
  const { code, stderr } = await cli('apply lifted.yaml --yes');
  expect(code).toBe(7);
  expect(stderr).toMatch(/✗ policy HELD: .*apr_.*\(403 approval_required\)/);
  expect(stderr).toContain('1 made · 0 changed · 0 removed');
  expect(await jsonOf('approvals ls --state waiting --json')).toHaveLength(1);
});

const svix = {
  data: [
    {
      id: 'ep_2a',
      uid: null,
      url: 'http://127.0.0.1:9/svix',
      version: 1,
      description: 'Svix',
      filterTypes: ['order.paid'],
      channels: ['c'],
      disabled: false,
      rateLimit: null,
      throttleRate: 20,
      metadata: { team: 'shop' },
      secret: { key: secret },
    },
    { id: 'ep_2b', uid: 'mine', url: 'http://127.0.0.1:9/svix2', disabled: true, description: '' },
  ],
  iterator: 'ep_2b',
  done: false,
};
const convoy = {
  status: true,
  message: 'ok',
  data: {
    pagination: { has_next_page: true },
    content: [
      {
        uid: '01H',
        name: 'Convoy',
        url: 'http://127.0.0.1:9/convoy',
        status: 'active',
        rate_limit: 300,
        rate_limit_duration: 60,
        http_timeout: '30s',
        description: '',
        owner_id: '',
        authentication: {
          type: 'api_key',
          api_key: { header_name: 'X-Key', header_value: 'hush' },
        },
        secrets: [{ value: 'x'.repeat(25), expires_at: '0001-01-01T00:00:00Z' }],
      },
      {
        ...{ uid: '02H', url: 'http://127.0.0.1:9/oauth', http_timeout: 300 },
        authentication: { type: 'oauth2' },
      },
      { uid: '03H', url: 'http://127.0.0.1:9/slow', http_timeout: '1h0m0s' },
    ],
  },
};

test.each([
  [
    ...(['svix', svix, 'SVIX'] as const),
    [
      {
        uid: 'ep_2a',
        event_types: ['order.paid'],
        rate_limit: 20,
        labels: { team: 'shop' },
        enabled: true,
      },
      { uid: 'mine', event_types: ['*'], enabled: false },
    ],
  ],
  [
    ...(['convoy', convoy, 'CONVOY'] as const),
    [
      {
        ...{
          uid: '01H',
          name: 'Convoy',
          rate_limit: 5,
          header_names: ['X-Key'],
          event_types: ['*'],
        },
        delivery: { timeout_seconds: 30 },
      },
      { uid: '02H', header_names: [], delivery: { timeout_seconds: 120 } },
      { uid: '03H', delivery: { timeout_seconds: 120 } },
    ],
  ],
])('takes over the endpoints of %s with their secrets, once', async (from, list, tenant, made) => {
  await put('list.json', JSON.stringify(list));
  const words = `webhooks import --from ${from} --tenant ${tenant} list.json`;
  const { stdout, stderr } = await ok(words);
  const [first = ''] = stdout.split('\n');
  const bytes =
    from === 'svix' ? secret : `whsec_${Buffer.from('x'.repeat(25)).toString('base64')}`;
  expect(first).toBe(`endpoint ${tenant}/${made[0]?.uid}\t${bytes}`);
  const said =
    from === 'svix'
      ? ['ep_2a: channels are not taken over']
      : [
          '01H: its subscriptions',
          '02H: its authentication (oauth2) is not taken over',
          '02H: its time limit of 300 s becomes 120 s',
          '03H: its time limit of 3600 s becomes 120 s',
        ];
  for (const text of [...said, 'the list has further pages']) expect(stderr).toContain(text);
  expect(stderr).not.toContain('01H: its authentication');
  expect(stderr).not.toContain('hush');
  const rows = await jsonOf(`endpoints ls --tenant ${tenant} --json`);
  const byUid = (a: { uid: string }, b: { uid: string }) => (a.uid < b.uid ? -1 : 1);
  expect(rows.sort(byUid)).toMatchObject(made);
  expect((await ok(words)).stderr).toContain('Nothing differs.');
});

test('a target of notices that is to tell a tenant gives way to another, once that is there', async () => {
  const told = (more: string) =>
    put('told.yaml', `notices:\n  - to: http://127.0.0.1:9/told\n${more}`);
  const targets = async () =>
    (await jsonOf('notify ls --json id,url,tenant')).filter(({ url }: { url: string }) =>
      url.endsWith('/told'),
    );
  await told('');
  await ok('apply told.yaml');
  const before = await targets();
  expect(before).toMatchObject([{ tenant: null }]);
  await told('    tenant: TX\n    kinds: [backup_overdue]\n');
  expect((await cli('apply told.yaml')).stderr).toContain('--yes');
  expect((await cli('apply told.yaml --yes')).stderr).toContain('400 request_invalid');
  expect(await targets()).toEqual(before);
  await told('    tenant: TX\n');
  const done = await ok('apply told.yaml --yes');
  expect(done.stdout).toMatch(/^target of notices \S+\twhsec_/);
  const [after, ...others] = await targets();
  expect([after.tenant, others]).toEqual(['TX', []]);
  expect(after.id).not.toBe(before[0].id);
  expect((await ok('apply told.yaml')).stderr).toBe('Nothing differs.\n');
});

test('of several that files call alike one is exported, and none is made of what is shown of a URL', async () => {
  const url = 'http://127.0.0.1:9/alike';
  for (const key of [1, 2]) {
    await ok('tokens create --name alike --scope analytics:read');
    await ok(`notify add --webhook ${url}?key=${key}`);
  }
  const { stdout, stderr } = await ok('export-config');
  expect(stderr).toBe(
    ['token is called alike', `target of notices is called ${url}?…`]
      .map((named) => `note: more than one ${named}: one of them is printed\n`)
      .join(''),
  );
  await put('exported.yaml', stdout);
  expect((await ok('apply exported.yaml --dry-run --prune')).stderr).toBe('Nothing differs.\n');
  await put('elsewhere.yaml', stdout.replaceAll('/alike?', '/elsewhere?'));
  const { code, stderr: told } = await cli('apply elsewhere.yaml');
  expect({ code, told }).toEqual({ code: 2, told: expect.stringContaining('400 target_invalid') });
  expect(told).toContain('http://127.0.0.1:9/elsewhere?…: The URL is cut');
});

test('a new policy that deletes, or lifts the hold of the default, is asked for', async () => {
  const make = async (policy: string) => {
    await put('policy.yaml', `policies:\n  - { tenant: NEW, ${policy} }\n`);
    return cli('apply policy.yaml');
  };
  const refused = await make('delete_days: 30');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('--yes');
  await ok('retention policy set * --hold --yes');
  expect((await make('hot_days: 30')).stderr).toContain('--yes');
  expect((await make('hot_days: 30, hold: true')).stderr).toContain('1 made');
});
