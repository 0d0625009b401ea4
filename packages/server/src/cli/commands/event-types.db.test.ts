import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = { path: '' };
beforeAll(async () => {
  folder.path = await mkdtemp(join(tmpdir(), 'svcctl-types-'));
  await writeFile(
    join(folder.path, 'schema.json'),
    '{"type":"object","maxProperties":9007199254740993}',
  );
});
afterAll(() => rm(folder.path, { recursive: true }));

const { cli, ok, jsonOf } = useServiceCli({ SVC_EVENT_TYPES: 'warn' }, folder);

test('adds a type, changes only what is named, and takes it away', async () => {
  const added = await ok(
    'event-types set order.paid --schema @schema.json --sample {"n":9007199254740993}',
  );
  expect(added.stderr).toContain('Added order.paid.');
  await ok('event-types set order.paid --description Paid --deprecated');
  expect(await jsonOf('event-types ls --json type,description,deprecated')).toEqual([
    { type: 'order.paid', description: 'Paid', deprecated: true },
  ]);
  await ok('event-types set order.paid --schema null --no-deprecated');
  const shown = (await ok('event-types show order.paid --json')).stdout;
  expect(shown).toContain('"sample"');
  expect(JSON.parse(shown)).toMatchObject({ schema: null, deprecated: false, description: 'Paid' });
  expect((await ok('__complete -- event-types show order')).stdout).toBe('order.paid\n');
  await ok('event-types rm order.paid --yes');
  expect((await cli('event-types show order.paid')).code).toBe(3);
});

test('says of a report what does not fit', async () => {
  const { stderr } = await ok('incidents send --tenant TX --type order.unpaid');
  expect(stderr).toContain('Mind: type: order.unpaid is not in the catalogue of event types');
});

test('an integer that no number of JavaScript is keeps its digits in samples', async () => {
  const sample = '{"n":9007199254740993,"m":[1,-9007199254740995]}';
  await ok(`event-types set large.number --sample ${sample}`);
  const { stdout } = await ok('export-config');
  const put = (name: string, text: string) => writeFile(join(folder.path, name), text);
  await put('exported.yaml', stdout);
  expect((await ok('apply exported.yaml --dry-run')).stderr).toBe('Nothing differs.\n');
  await put('larger.yaml', stdout.replace('9007199254740993', '9007199254740992'));
  for (const name of ['larger', 'exported']) {
    expect((await ok(`apply ${name}.yaml`)).stderr).toContain('~ event type large.number');
  }
  expect((await ok('event-types show large.number --json')).stdout).toContain(sample);
  await ok('event-types rm large.number --yes');
});
