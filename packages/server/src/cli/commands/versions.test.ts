import { describe, expect, test } from 'vitest';
import type { Version } from '../dataset-versions.ts';
import { answerOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { inTurn, json, noContent, pages } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf, sent } = prepareCli();

const version: Version = answerOf('GET /enrichment/dataset-versions/:id', {
  id: 'ver_1',
  tenant: 'TX',
  dataset: 'training',
  name: '2026-q1',
  shares: { train: 80, validation: 10, test: 10 },
  count: 512_991,
  bytes: 246_000_000,
  digest: '9f3c00000000abe1',
  slices: [
    { tag_id: 'tag_1', store: 'DFW', from: '2001-01-01', to: '2001-01-31', note: 'first' },
    { tag_id: 'tag_2', store: null, from: null, to: null, note: null },
  ],
  state: 'ready',
  splits: {
    train: { count: 410_000, digest: '000000000000000a' },
    validation: { count: 51_000, digest: '000000000000000b' },
    test: { count: 51_991, digest: '000000000000000c' },
  },
  created_by: 'ops',
});
const counting: Version = { ...version, state: 'counting', splits: null };
const erased: Version = {
  ...version,
  id: 'ver_2',
  name: '2025-q4',
  change: 'erased',
  changed_at: '2026-03-05T11:00:00.000000Z',
  current: { count: 512_990, bytes: 245_000_000, digest: '9f3c00000000abe0' },
};

const offerVersion = (...states: Version[]) => {
  api.on('POST /enrichment/dataset-versions', json(counting, 201));
  api.on('GET /enrichment/dataset-versions/ver_1', inTurn(...states));
};
const create = 'records versions create --tenant TX --dataset training --name 2026-q1';

refusesUsage(api, [
  [`${create} --split 80/10`, 'not three shares of 100 together'],
  [`${create} --split 80/10/20`, 'not three shares of 100 together'],
  ['records versions diff ver_1', 'name two versions'],
  ['records versions diff ver_1 ver_2 --limit 101', 'a number from 1 to 100'],
]);

describe('versions create', () => {
  test('ends with 6 when what was counted is not what was frozen', async () => {
    offerVersion({ ...counting, state: 'failed', error: '1 record is missing.' });
    await ends(cli(create), 6, [
      '1 record is missing (version_changed)',
      'svcctl records versions show ver_1',
    ]);
  });

  test('ends with 6 when no record fits', async () => {
    offerVersion({ ...counting, state: 'failed', count: 0, error: 'No record fits.' });
    await ends(cli(create), 6, ['ver_1 is empty: No record fits (dataset_empty)']);
  });

  test('says on Ctrl-C that the counting goes on', async () => {
    const interrupt = new AbortController();
    offerVersion(counting);
    api.on('GET /enrichment/dataset-versions/ver_1', (request, response) => {
      json(counting)(request, response);
      interrupt.abort();
    });
    await ends(cli(create, { signal: interrupt.signal }), 130, [
      'The version is counted without this command.',
    ]);
  });

  test('waits until it is counted, and prints count, digest and splits', async () => {
    offerVersion(counting, version);
    const { stderr } = await ends(cli(`${create} --split 80/10/10 --note n`), 0, 'ver_1\n', []);
    expect(stderr).toBe(
      '✓ 2026-q1: 512,991 records (246 MB) · digest 9f3c00000000abe1\n' +
        '  train: 410,000 records · digest 000000000000000a\n' +
        '  validation: 51,000 records · digest 000000000000000b\n' +
        '  test: 51,991 records · digest 000000000000000c\n',
    );
    expect(sent('POST', '/enrichment/dataset-versions')).toEqual([
      {
        tenant: 'TX',
        dataset: 'training',
        name: '2026-q1',
        shares: { train: 80, validation: 10, test: 10 },
        note: 'n',
      },
    ]);
  });

  test('asks for groups, and tells what is odd about them', async () => {
    const warnings = ['3 records of 9 have no value at camera_id.'];
    offerVersion({ ...version, group_by: 'camera_id', ungrouped: 3, warnings });
    await ends(cli(`${create} --split 80/10/10 --group-by camera_id`), 0, 'ver_1\n', [
      `Mind: ${warnings[0]}\n`,
    ]);
    expect(sent('POST', '/enrichment/dataset-versions')).toMatchObject([{ group_by: 'camera_id' }]);
    const shown = await cli('records versions show ver_1', { isTerminal: true });
    expect(shown.stdout).toMatch(/group by +camera_id\nwarning +3 records of 9/);
  });

  test('with a where the records are counted first', async () => {
    const open = { ...counting, where: 'score >= 0.9', count: null, bytes: null, digest: null };
    offerVersion(open, { ...version, where: 'score >= 0.9' });
    await ends(cli([...create.split(' '), '--where', 'score >= 0.9']), 0, 'ver_1\n', ['512,991']);
    expect(sent('POST', '/enrichment/dataset-versions')).toMatchObject([{ where: 'score >= 0.9' }]);
    api.on('POST /enrichment/dataset-versions', json(open, 201));
    await ends(cli(`${create} --no-wait`), 0, 'ver_1\n', ['2026-q1: not counted yet · digest not']);
  });

  test('--no-wait leaves it counting', async () => {
    offerVersion(version);
    expect(await jsonOf(`${create} --no-wait --json`)).toEqual(counting);
  });
});

test('versions ls shows what is left of those that were changed', async () => {
  api.on(
    'GET /enrichment/dataset-versions',
    pages([JSON.stringify(version)], [JSON.stringify(erased)]),
  );
  const shown = await cli('records versions ls --tenant TX', { isTerminal: true });
  expect(shown.stdout).toMatch(/ver_1 +TX +training +2026-q1 +512,991 +246 MB +80\/10\/10 +ready/);
  expect(shown.stdout).toMatch(/ver_2 .* 512,990 .* ready, some erased/);
  expect(await jsonOf('records versions ls --json name,current')).toEqual([
    { name: '2026-q1', current: null },
    { name: '2025-q4', current: erased.current },
  ]);
});

test('versions show finds an id, and a name among those of a tenant', async () => {
  const list = [JSON.stringify(version), JSON.stringify(erased)];
  api.on('GET /enrichment/dataset-versions', pages(list));
  api.on('GET /enrichment/dataset-versions/ver_1', json(version));
  await ends(cli('records versions show 2024-q1 --tenant TX'), 3, ['It has: 2026-q1, 2025-q4.']);
  const byId = await cli('records versions show ver_1', { isTerminal: true });
  expect(byId.stdout).toContain('validation  51,000 records · digest 000000000000000b\n');
  expect(byId.stdout).toContain('store DFW · 2001-01-01 … 2001-01-31 · tag_1 · first\n');
  expect(byId.stdout).toContain('all stores · all days · tag_2\n');
  const byName = await cli('records versions show 2025-q4 --tenant TX', { isTerminal: true });
  expect(byName.stdout).toMatch(/left of it +512,990 records/);
  expect(await jsonOf('records versions show ver_1 --json count,digest')).toEqual({
    count: 512_991,
    digest: '9f3c00000000abe1',
  });
});

test('versions diff adds up the stretches, and names the first of what differs', async () => {
  api.on(
    'GET /enrichment/dataset-versions',
    pages([JSON.stringify(version), JSON.stringify(erased)]),
  );
  const record = (n: number) => ({
    store: 'DFW',
    occurred_at: '2026-03-05T10:00:00.000000Z',
    event_id: `e${n}`,
  });
  const page = (n: number) => ({
    added: { count: 2, records: [record(n), record(n + 1)] },
    gone: { count: 0, records: [] },
    moved: n === 1 ? { count: 1, records: [record(9)] } : { count: 0, records: [] },
    stretches_done: n === 1 ? 1 : 2,
    stretches_total: 2,
    next_cursor: n === 1 ? 'next' : null,
  });
  const offer = () =>
    api.on('GET /enrichment/dataset-versions/ver_1/diff', inTurn(page(1), page(3)));
  const words = 'records versions diff 2026-q1 2025-q4 --tenant TX --limit 3';
  offer();
  const shown = await cli(words, { isTerminal: true });
  expect(shown.stdout).toMatch(/added +4 records\ngone +0 records\nin both +512,986 records/);
  expect(shown.stdout).toMatch(/in another split +1 record\n/);
  expect(shown.stdout).toContain('ADDED, THE FIRST 3\nDFW  2026-03-05T10:00:00.000000Z  e1\n');
  expect(shown.stdout).not.toContain('e4');
  offer();
  expect(await jsonOf(`${words} --json added,stretches_done`)).toEqual({
    added: { count: 4, records: [record(1), record(2), record(3)] },
    stretches_done: 2,
  });
});

test('versions rm asks, and deletes', async () => {
  api.on('GET /enrichment/dataset-versions', pages([JSON.stringify(version)]));
  api.on('DELETE /enrichment/dataset-versions/ver_1', noContent);
  const words = 'records versions rm 2026-q1 --tenant TX';
  expect((await cli(words)).code).toBe(2);
  const refused = await cli(words, { typed: 'n\n' });
  expect(refused.stderr).toContain('Delete the version 2026-q1 of TX (ver_1)?');
  expect(api.requests.every(({ method }) => method === 'GET')).toBe(true);
  const { code, stderr } = await cli(`${words} --yes`);
  expect(code).toBe(0);
  expect(stderr).toBe('Deleted 2026-q1 of TX (ver_1).\n');
});
