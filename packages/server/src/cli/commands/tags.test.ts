import { describe, expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, noContent, pages, problem } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';
import type { Tag, Tagged } from './tags.ts';

const { api, cli, jsonOf, sent } = prepareCli();

const tag: Tag = rowOf('GET /enrichment/tags', {
  id: 'tag_1',
  tenant: 'TX',
  store: 'DFW',
  from: '2001-01-01',
  to: '2001-01-31',
  dataset: 'training',
  count: 41_022,
  bytes: 19_700_000,
  created_by: 'ops',
});
const wholeTag: Tag = {
  ...tag,
  id: 'tag_2',
  store: null,
  from: null,
  to: null,
  dataset: 'fine_tuning',
  note: 'by hand',
};
const both: Tagged['warnings'] = [
  { code: 'in_both_datasets', message: '1,204 records are in both datasets.', count: 1204 },
];

/** Answers a dry run and the tag itself. */
const offerTag = (warnings: Tagged['warnings'] = []) =>
  api.on('POST /enrichment/tags', (request, response) => {
    const isDry = JSON.parse(String(request.body)).dry_run === true;
    const answer = { ...tag, id: isDry ? null : tag.id, warnings };
    json(answer, isDry ? 200 : 201)(request, response);
  });
const add = 'records tags add --tenant TX --store DFW --month 2001-01 --dataset training';

refusesUsage(api, [
  ['records tags add --tenant TX --dataset training --from 2001-01-01', 'need each other'],
  ['records tags add --tenant TX --dataset training --where a=1', '--where goes with --dry-run'],
  ['records tags ls --month 2001-13', 'is not a month'],
]);

describe('tags add', () => {
  test('a preview counts those that fit, and tags nothing', async () => {
    offerTag();
    const counted = { count: 12, bytes: 6_000, looked: 41_022, searched_to: null };
    api.on('GET /enrichment/records/count', json({ ...counted, next_cursor: null }));
    const { stderr } = await cli(`${add} --dry-run --where a=1`);
    expect(stderr).toContain('12 records of 41,022 records (6.0 kB) fit a=1\n');
    expect(sent('POST', '/enrichment/tags')).toMatchObject([{ dry_run: true }]);
    expect(api.requests.at(-1)?.query).toEqual({
      tenant: 'TX',
      store: 'DFW',
      month: '2001-01',
      where: 'a=1',
    });
  });

  test('does not put records into both datasets unasked where there is no terminal', async () => {
    offerTag(both);
    await ends(cli(add), 6, [
      '1,204 records would be in both datasets (in_both_datasets)',
      'Nothing was tagged. If that is meant: --yes',
    ]);
    expect(sent('POST', '/enrichment/tags')).toHaveLength(1);
  });

  test('asks on a terminal when records would be in both datasets', async () => {
    offerTag(both);
    await ends(cli(add, { typed: 'n\n' }), 130, [
      'Tag 41,022 records, 1,204 of them for both? [y/N]',
    ]);
    expect(sent('POST', '/enrichment/tags')).toHaveLength(1);
    expect(await cli(add, { typed: 'y\n' })).toMatchObject({ code: 0, stdout: 'tag_1\n' });
  });

  test('goes on with --yes, and says so all the same', async () => {
    offerTag(both);
    await ends(cli(`${add} --yes`), 0, 'tag_1\n', ['warning: 1,204 records are in both datasets.']);
  });

  test('asks for the slice first, then tags it, and says how many records that are', async () => {
    offerTag();
    const { stderr } = await ends(cli(`${add} --note ok`), 0, 'tag_1\n', []);
    expect(stderr).toBe(
      'Tagged 41,022 records (19.7 MB) of TX, store DFW, 2001-01-01 … 2001-01-31, as training data.\n',
    );
    const body = { tenant: 'TX', store: 'DFW', month: '2001-01', dataset: 'training', note: 'ok' };
    expect(sent('POST', '/enrichment/tags')).toEqual([{ ...body, dry_run: true }, body]);
  });

  test('--dry-run changes nothing; --json prints the whole answer', async () => {
    offerTag();
    const dry = await cli(`${add} --dry-run --json`);
    expect(JSON.parse(dry.stdout)).toEqual({ ...tag, id: null, warnings: [] });
    expect(dry.stderr).toContain('Would tag 41,022 records');
    expect(sent('POST', '/enrichment/tags')).toEqual([expect.objectContaining({ dry_run: true })]);
    expect(await jsonOf(`${add} --json`)).toEqual({ ...tag, warnings: [] });
  });
});

test('tags ls walks all pages: a table, tabs, or JSON', async () => {
  api.on('GET /enrichment/tags', pages([JSON.stringify(tag)], [JSON.stringify(wholeTag)]));
  const piped = await cli('records tags ls --tenant TX --month 2001-01 --dataset training');
  expect(piped.stdout).toBe(
    'tag_1\tTX\tDFW\t2001-01-01/2001-01-31\ttraining\t41022\t19700000\t2026-03-05T10:00:00.000000Z\t\n' +
      'tag_2\tTX\t\t/\tfine_tuning\t41022\t19700000\t2026-03-05T10:00:00.000000Z\tby hand\n',
  );
  expect(api.requests[0]?.query).toMatchObject({
    tenant: 'TX',
    month: '2001-01',
    dataset: 'training',
  });
  const shown = await cli('records tags ls', { isTerminal: true });
  expect(shown.stdout).toMatch(/^ID +TENANT +STORE +DAYS \(UTC\) +DATASET +RECORDS/);
  expect(shown.stdout).toMatch(/tag_2 +TX +all +all days/);
  expect(shown.stderr).toContain('2 tags');
  expect(await jsonOf('records tags ls --json id,store')).toEqual([
    { id: 'tag_1', store: 'DFW' },
    { id: 'tag_2', store: null },
  ]);
});

test('tags rm untags each, and tells which there were not', async () => {
  api.on('DELETE /enrichment/tags/tag_1', noContent);
  api.on('DELETE /enrichment/tags/tag_9', problem(404, 'tag_not_found', 'There is no such tag.'));
  expect(await cli('records tags rm tag_9')).toMatchObject({ code: 3, stdout: '' });
  await ends(cli('records tags rm tag_1 tag_9'), 7, [
    'Untagged tag_1.\n✗ tag_9: There is no such tag. (404 tag_not_found)',
  ]);
});
