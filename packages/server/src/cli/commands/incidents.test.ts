import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, problem } from '../testing/receiver.ts';
import { useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli } = prepareCli(folder);

const bodies = () => api.requests.map(({ body }) => JSON.parse(String(body)));

refusesUsage(api, [['incidents send --tenant TX --type a.b --data x.json', 'it is not JSON']]);

test('incidents ls passes its filters on, and says what became of the deliveries', async () => {
  const counts = { queued: 0, pending: 0, abandoned: 1, delivered: 2, discarded: 0 };
  const at = '2026-03-05T14:07:09.000000Z';
  const times = { occurred_at: at, created_at: at };
  const incident = { id: 'inc_1', tenant: 'TX', store: null, type: 'a.b', ...times };
  const data = [{ ...incident, delivery_counts: counts, held_back: ['ep_1'] }];
  api.on('GET /incidents', json({ data, next_cursor: null }));
  const ls = (...argv: string[]) => cli(['incidents', 'ls', ...argv]);
  const days = ['--from', '2026-03-01', '--to', '2026-03-05'];
  const { stdout } = await ls('--failed', '--type', 'a.', '--store', 'S', ...days);
  expect(stdout).toContain('1 abandoned, 2 delivered, 1 held back');
  expect(api.requests.at(-1)?.query).toEqual({
    deliveries: 'failed',
    type: 'a.',
    store: 'S',
    from: '2026-03-01',
    to: '2026-03-05',
    include: 'delivery_counts',
    limit: '100',
  });
  expect(JSON.parse((await ls('--json', 'id,delivery_counts')).stdout)).toEqual([
    { id: 'inc_1', delivery_counts: counts },
  ]);
  await ls('--from', '2026-03-01');
  expect(api.requests.at(-1)?.query).toMatchObject({ from: '2026-03-01', to: '2999-12-31' });
});

test('incidents send takes data as JSON, from a file and from stdin, and prints the id', async () => {
  await writeFile(join(folder.path, 'i.json'), '{"from":"file"}');
  api.on('POST /incidents', json({ id: 'inc_1', deliveries: [{ id: 'dlv_1' }] }, 202));
  const send = (argv: string[], stdin = '') =>
    cli(['incidents', 'send', '--tenant', 'TX', '--type', 'a.b', ...argv], { stdin });
  const { stdout, stderr } = await send([]);
  expect(stdout).toBe('inc_1\n');
  expect(stderr).toBe('Accepted, with 1 delivery. Look: svcctl incidents show inc_1\n');
  await send(['--data', '[1]']);
  await send(['--data', '@i.json']);
  await send(['--data', '-'], '{"from":"stdin"}');
  expect(bodies().map(({ data }) => data)).toEqual([{}, [1], { from: 'file' }, { from: 'stdin' }]);
  expect(await send(['--data', '@none.json'])).toMatchObject({ code: 1 });
  await send(['--data', '{"id": 12345678901234567890}']);
  expect(String(api.requests.at(-1)?.body)).toContain('"data":{"id": 12345678901234567890}}');
});

test('incidents send ends with 130 on Ctrl-C while it waits for stdin', async () => {
  const interrupt = new AbortController();
  const waiting = cli('incidents send --tenant TX --type a.b --data -', {
    stdin: new PassThrough(),
    signal: interrupt.signal,
  });
  setImmediate(() => interrupt.abort());
  expect(await waiting).toMatchObject({ code: 130, stdout: '' });
  expect(api.requests).toEqual([]);
});

test('incidents send is repeated while the service is busy only with a key', async () => {
  const busy = problem(503, 'not_ready', 'Starting.', { headers: { 'retry-after': '1' } });
  let calls = 0;
  api.on('POST /incidents', (request, response) => {
    calls += 1;
    (calls % 2 === 1 ? busy : json({ id: 'inc_1', deliveries: [] }, 202))(request, response);
  });
  const words = 'incidents send --tenant TX --type a.b';
  expect(await cli(words)).toMatchObject({ code: 5 });
  calls = 0;
  const { code, stderr } = await cli(
    `${words} --key k --store S --occurred-at 2026-03-05T00:00:00Z`,
  );
  expect(code).toBe(0);
  expect(stderr).toBe('Accepted. No endpoint of TX wants a.b: nothing to deliver.\n');
  expect(bodies().at(-1)).toEqual({
    tenant: 'TX',
    type: 'a.b',
    data: {},
    store: 'S',
    occurred_at: '2026-03-05T00:00:00Z',
    idempotency_key: 'k',
  });
});

test('incidents report sends a file under one key, and sends it again while the service is busy', async () => {
  await writeFile(join(folder.path, 'night.ndjson'), '{"a":1}\n{"a":2}\n');
  const told = { accepted: 2, duplicates: 1, deliveries: 4, rejected: [], rejected_count: 0 };
  const warnings = [{ index: 1, message: 'type: a.b is deprecated' }];
  const busy = problem(503, 'database_unavailable', 'Gone.', { headers: { 'retry-after': '1' } });
  api.on('POST /incidents', (request, response) => {
    const answer = api.requests.length === 1 ? busy : json({ ...told, warnings }, 207);
    answer(request, response);
  });
  const report = (...argv: string[]) =>
    cli(['incidents', 'report', '--file', 'night.ndjson', ...argv]);
  const { code, stdout, stderr } = await report();
  expect({ code, stdout }).toEqual({ code: 0, stdout: '2\t1\t0\t4\n' });
  expect(stderr).toContain('Mind line 2: type: a.b is deprecated');
  const [first, second] = api.requests.slice(-2);
  expect(String(second?.body)).toBe('{"a":1}\n{"a":2}\n');
  expect(second?.headers['content-type']).toBe('application/x-ndjson');
  expect(second?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  expect(first?.headers['idempotency-key']).toBe(second?.headers['idempotency-key']);

  const rejected = [{ index: 4, code: 'request_invalid', message: 'type: missing' }];
  api.on('POST /incidents', json({ ...told, rejected, rejected_count: 1 }, 207));
  const faulty = await report('--key', 'night', '--json');
  expect(JSON.parse(faulty.stdout)).toMatchObject({ rejected });
  expect(faulty.code).toBe(7);
  expect(faulty.stderr).toContain('   5  request_invalid  type: missing');
  expect(faulty.stderr).toContain('incidents report --file night.ndjson --key night');

  const progress = { ...told, lines_read: 3, next_line: 3, next_byte: 24 };
  api.on(
    'POST /incidents',
    json({ code: 'body_encoding_invalid', detail: 'Cut.', ...progress }, 400),
  );
  const cut = await report('--key', 'night');
  expect(cut).toMatchObject({ code: 2, stdout: '2\t1\t0\t4\n' });
  expect(cut.stderr).toContain(
    'reports nothing twice: svcctl incidents report --file night.ndjson',
  );
});
