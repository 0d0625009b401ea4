import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { answerOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const { api, cli, jsonOf, sent } = prepareCli();

refusesUsage(api, [
  ['records erase --tenant TX --yes', 'say what to erase'],
  [
    'records erase --tenant TX --event-id e1 --from 2001-01-01 --to 2001-01-02',
    'say what to erase',
  ],
  ['records erase --tenant TX --from 2001-01-01', 'need each other'],
  ['records erase --tenant TX --subject p-17 --yes', '--subject takes FIELD=VALUE'],
  ['records erase --tenant TX --event-id e1', 'Erase without asking: --yes'],
]);

const receipt = answerOf('POST /enrichment/erase', {
  id: 'mov_9',
  state: 'switched',
  tenant: 'TX',
  erased: { count: 2, bytes: 900, digest: '00000000000000aa' },
  hot_count: 1,
  cold_count: 1,
  segments_rewritten: 1,
  not_found: ['e3'],
  versions_changed: 3,
  versions: [
    { id: 'ver_1', name: 'spring' },
    { id: 'ver_2', name: 'summer' },
  ],
  counts_ended: 1,
  counts: [{ id: 'cnt_1', name: 'desk' }],
  erased_at: '2026-03-05T10:00:01.000000Z',
  objects_removed_after: '2026-03-05T10:15:01.000000Z',
  remains: [
    { what: 'objects', until: '2026-03-05T10:15:01.000000Z', note: 'The replaced objects stay.' },
    { what: 'wal', until: null, note: 'The log stays.' },
  ],
});

test('erase tells what would go, asks, and prints the receipt', async () => {
  api.on('POST /enrichment/erase', (request, response) => {
    const isPreview = JSON.parse(String(request.body)).dry_run === true;
    json({ ...receipt, ...(isPreview ? { id: null, dry_run: true } : {}) })(request, response);
  });
  const words = 'records erase --tenant TX --event-id e1 e2 e3';
  await ends(cli(words, { typed: 'n\n' }), 130, [
    '1 event id without a record.',
    'Erase 2 records of TX (1 hot, 1 cold, 900 B) for good? [y/N]',
  ]);
  const done = await cli(words, { typed: 'y\n' });
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('erased                  2 records\n');
  expect(done.stdout).toContain('not found               e3\n');
  expect(done.stdout).toMatch(/^versions concerned +3: spring, summer and 1 more$/m);
  expect(done.stdout).toMatch(/^counts ended +1: desk$/m);
  expect(done.stdout).toMatch(/remains \(objects\) +until 2026-03-05 10:15:01 UTC: The replaced/);
  expect(done.stdout).toMatch(/remains \(wal\) +The log stays/);
  expect(sent('POST', '/enrichment/erase').at(-1)).toEqual({
    tenant: 'TX',
    event_ids: ['e1', 'e2', 'e3'],
  });
  expect(await jsonOf(`${words} --dry-run --json`)).toMatchObject({ id: null, dry_run: true });
  expect(sent('POST', '/enrichment/erase').at(-1)).toMatchObject({ dry_run: true });
});

test('erase says how many incidents go, too', async () => {
  const incidents = { count: 3, cancelled: 1, answers: 4, keys: 2 };
  api.on('POST /enrichment/erase', json({ ...receipt, incidents }));
  const done = await cli('records erase --tenant TX --event-id e1 --incidents', { typed: 'y\n' });
  expect(done.stderr).toContain('900 B) and 3 incidents for good? [y/N]');
  expect(done.stdout).toMatch(/incidents +3\ndeliveries cancelled +1\nanswers removed +4\n/);
  expect(sent('POST', '/enrichment/erase').at(-1)).toMatchObject({ incidents: true });
});

test('erase hands on why, and prints it with the receipt', async () => {
  api.on('POST /enrichment/erase', json({ ...receipt, reason: 'ticket 4711' }));
  const words = ['records', 'erase', '--tenant', 'TX', '--event-id', 'e1'];
  const done = await cli([...words, '--reason', 'ticket 4711'], { typed: 'y\n' });
  expect(done.stdout).toMatch(/^reason +ticket 4711$/m);
  expect(sent('POST', '/enrichment/erase').at(-1)).toMatchObject({ reason: 'ticket 4711' });
});

test.each([
  ['person.id=a=b', 'person.id', 'a=b'],
  ['person."a=b"."\\""=x', 'person."a=b"."\\""', 'x'],
])('erase takes the subject %s apart', async (subject, field, value) => {
  api.on('POST /enrichment/erase', json(receipt));
  await ends(cli(['records', 'erase', '--tenant', 'TX', '--subject', subject, '--yes']), 0, /^/);
  expect(sent('POST', '/enrichment/erase').at(-1)).toEqual({
    tenant: 'TX',
    subject: { field, value },
  });
});

describe('with --receipt', () => {
  const route = 'GET /enrichment/erasures/mov_9';
  const dir = useFolder();
  const save = async (changes: object) => {
    const path = join(dir.path, 'receipt.json');
    await writeFile(path, JSON.stringify({ ...receipt, ...changes }));
    return ['records', 'erase', '--receipt', path];
  };

  test('erase prints a receipt as it is now, and erases nothing', async () => {
    api.on(route, json({ ...receipt, not_found: [], not_found_count: 3, reason: 'ticket 4711' }));
    const { code, stdout } = await cli('records erase --receipt mov_9', { typed: '' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^not found +3$/m);
    expect(stdout).toMatch(/^reason +ticket 4711$/m);
    await ends(cli('records erase --receipt mov_9 --tenant TX'), 2, ['--receipt goes alone']);
  });

  test('erase says of a receipt that it goes on, or failed', async () => {
    api.on(route, json({ ...receipt, state: 'copied', erased_at: null }));
    const told = 'Look: svcctl retention move mov_9';
    const read = () => cli('records erase --receipt mov_9', { typed: '' });
    await ends(read(), 0, /^to erase +2 records$/m, [told]);
    api.on(route, json({ ...receipt, state: null, erased_at: null }));
    await ends(read(), 0, /^to erase +2 records$/m, ['Its records were not begun.']);
    api.on(route, json({ ...receipt, state: 'failed', erased_at: null }));
    await ends(read(), 1, /^to erase +2 records$/m, ['the records are still there']);
  });

  test('erase compares a saved receipt, whatever the state and what remains', async () => {
    api.on(route, json({ ...receipt, not_found: [], state: 'removed', remains: [] }));
    await ends(cli(await save({})), 0, /./, ['receipt.json is what the service has.\n']);
    const told = 'reason is "forged" there and null here';
    await ends(cli(await save({ reason: 'forged' })), 1, [told]);
    const erased = { ...receipt.erased, count: 3 };
    await ends(cli(await save({ erased })), 1, ['erased is {"count":3']);
    await ends(cli(await save({ incidents: undefined })), 1, ['incidents is undefined there']);
    await ends(cli(await save({ id: null })), 2, ['is no receipt']);
    await ends(cli(await save({ erased_at: null })), 2, ['before the erasure was done']);
  });
});

test('erase that goes on, or failed, says so', async () => {
  const words = 'records erase --tenant TX --from 2001-01-01 --to 2001-01-02 --yes';
  api.on('POST /enrichment/erase', json({ ...receipt, state: 'copied', erased_at: null }));
  expect(await cli(words)).toMatchObject({
    code: 0,
    stderr: 'It is still at work. Look: svcctl retention move mov_9\n',
  });
  api.on('POST /enrichment/erase', json({ ...receipt, state: 'failed', erased_at: null }));
  const failed = await cli(words);
  expect(failed).toMatchObject({ code: 1 });
  expect(failed.stderr).toContain('the records are still there');
});
