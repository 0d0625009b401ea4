import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../test/actor.ts';
import { useTestDatabase } from '../../test/database.ts';
import type { KeyRange, TagWindows } from '../records/index.ts';

import { type SelectionRequest, toSelection } from './select.ts';

const db = useTestDatabase();

const tags: TagWindows = {
  training: [{ store: null, from: '2001-01-01', until: '2001-04-01' }],
  fine_tuning: [{ store: 'A', from: '2001-02-01', until: '2001-02-02' }],
};
const parts: KeyRange[] = [
  {
    first: { store: 'A', day: '2001-01-01' },
    last: { store: 'B', day: '2001-03-31' },
    minDay: '2001-01-01',
    maxDay: '2001-03-31',
  },
];
const recordedBefore = '2001-04-02T03:04:05.678901Z';

beforeAll(async () => {
  for (const [id, shares] of [
    ['ver_split', [80, 15, 5]],
    ['ver_whole', [null, null, null]],
  ] as const) {
    const [train, validation, held] = shares;
    await db.query(sql`
      insert into dataset_versions (tenant, id, dataset, name, train_share, validation_share, test_share,
        slices, tags, recorded_before, count, bytes, digest, parts, created_by)
      values ('TX', ${id}, 'training', ${`name of ${id}`}, ${train}, ${validation}, ${held}, '[]',
        ${JSON.stringify(tags)}, ${recordedBefore}, 1, 1, 1, ${JSON.stringify(parts)}, 'test')`);
  }
});

const select = (request: SelectionRequest, actor = testActor) =>
  toSelection(db, request, actor, { place: '/' });

test.each<[string, Partial<SelectionRequest>, string]>([
  ['a split without a version', { split: 'train' }, 'split'],
  ['a split of a version without shares', { version: 'ver_whole', split: 'train' }, 'split'],
  ['a version with a store', { version: 'ver_split', store: 'A' }, 'store'],
  ['a version with a month', { version: 'ver_split', month: '2001-01' }, 'month'],
  ['a version with from', { version: 'ver_split', from: '2001-01-01' }, 'from'],
  ['a version with to', { version: 'ver_split', to: '2001-01-01' }, 'to'],
  ['a version with a kind', { version: 'ver_split', kind: 'k' }, 'kind'],
  ['a version with a dataset', { version: 'ver_split', dataset: 'training' }, 'dataset'],
  ['days without an end', { from: '2001-01-01' }, 'to'],
])('refuses %s, and names the field', async (_what, request, field) => {
  await expect(select({ tenant: 'TX', ...request })).rejects.toMatchObject({
    code: 'request_invalid',
    errors: [{ path: `/${field}` }],
  });
  await expect(
    toSelection(db, { tenant: 'TX', ...request }, testActor, { place: '?' }),
  ).rejects.toMatchObject({ errors: [{ path: `?${field}` }] });
});

test('a version that is unknown, of another tenant or out of reach is not found', async () => {
  const limited = { ...testActor, tenants: ['CA'] };
  for (const [tenant, version, actor] of [
    ['TX', 'ver_none', testActor],
    ['CA', 'ver_split', testActor],
    ['TX', 'ver_split', limited],
  ] as const) {
    await expect(select({ tenant, version }, actor)).rejects.toMatchObject({
      code: 'version_not_found',
    });
  }
});

test('a slice of days or of a dataset is as it was asked for, without tags yet', async () => {
  const limited = { ...testActor, tenants: ['TX'] };
  expect(
    await select({ tenant: 'TX', store: 'A', month: '2001-02', kind: 'k' }, limited),
  ).toMatchObject({
    slice: {
      tenant: 'TX',
      store: 'A',
      from: '2001-02-01',
      until: '2001-03-01',
      kind: 'k',
      tenants: ['TX'],
    },
    version: null,
  });
  const { slice } = await select({ tenant: 'TX', dataset: 'fine_tuning' });
  expect(slice).toMatchObject({ dataset: 'fine_tuning' });
  expect(slice.tags).toBeUndefined();
});

test('a version is the tags that it froze, the time before which it did, and its parts', async () => {
  const { slice, version } = await select({ tenant: 'TX', version: 'ver_whole' });
  expect(slice).toEqual({ tenant: 'TX', dataset: 'training', tags, recordedBefore, tenants: null });
  expect(version).toEqual({
    id: 'ver_whole',
    name: 'name of ver_whole',
    dataset: 'training',
    shares: null,
    groupBy: null,
    changedAt: null,
    where: null,
    parts,
  });
});

test('the records of a version with a where are read by a job alone, which may narrow them', async () => {
  await db.query(sql`update dataset_versions set where_text = 'a or b = 1' where id = 'ver_split'`);
  const request = { tenant: 'TX', version: 'ver_split' };
  await expect(select(request)).rejects.toMatchObject({
    code: 'request_invalid',
    errors: [{ path: '/version', message: expect.stringContaining('Prefer: respond-async') }],
  });
  const job = { place: '/', isJob: true } as const;
  expect((await toSelection(db, request, testActor, job)).slice.where).toBe('a or b = 1');
  const narrowed = await toSelection(db, { ...request, where: 'c = 2' }, testActor, job);
  expect(narrowed.slice.where).toBe('(a or b = 1) and (c = 2)');
  await db.query(sql`update dataset_versions set where_text = null`);
});

test('a split of groups is read by a job alone, and the whole version by a stream', async () => {
  await db.query(sql`update dataset_versions set group_by = 'user.id' where id = 'ver_split'`);
  const request = { tenant: 'TX', version: 'ver_split', split: 'test' } as const;
  await expect(select(request)).rejects.toMatchObject({
    code: 'request_invalid',
    errors: [{ path: '/split', message: expect.stringContaining('Prefer: respond-async') }],
  });
  const job = { place: '/', isJob: true } as const;
  expect((await toSelection(db, request, testActor, job)).slice.groupBy).toBe('user.id');
  expect((await select({ tenant: 'TX', version: 'ver_split' })).slice.groupBy).toBe('user.id');
  await db.query(sql`update dataset_versions set group_by = null`);
});

test('a split is read by the shares of its version', async () => {
  const shares = { train: 80, validation: 15, test: 5 };
  const { slice, version } = await select({ tenant: 'TX', version: 'ver_split', split: 'test' });
  expect(slice).toMatchObject({ shares, split: 'test', recordedBefore });
  expect(version?.shares).toEqual(shares);
});
