import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { bothTiers, ingest } from '../read/testing/walk.ts';
import type { Difference, NewVersion } from '../versions.contract.ts';
import { diffVersions, joinDifferences, planDiff } from './diff.ts';
import { cutParts } from './pin-queries.ts';
import { addTag, freezeVersion, type TestTag } from './testing/freeze-version.ts';
import { readVersionSlice } from './version.ts';

// What two versions differ by is what a reader of all their records finds.

const db = useTestDatabase();
const cold = useColdStore();
const tiers = bothTiers(db, cold);
const tools = { db, cold, cursorKey: Buffer.alloc(32, 5) };
const shares = { train: 60, validation: 30, test: 10 };

const store = (tenant: string, count: number, prefix = 'e') =>
  ingest(db, cold, [
    numberedRecords(tenant, count, (n) => ({
      store: `S${n % 3}`,
      event_id: `${prefix}${n}`,
      occurred_at: `2001-03-0${1 + (n % 5)}T10:00:00Z`,
      enrichment: { n, camera: `c${n % 4}` },
    })),
  ]);

type Frozen = { tags?: readonly TestTag[] } & Partial<NewVersion>;

/** Tags and freezes, and cuts the version into many stretches, as a large one is. */
async function make(tenant: string, name: string, { tags = [{}], ...more }: Frozen = {}) {
  await db.query(sql`delete from tags where tenant = ${tenant}`);
  for (const tag of tags) await addTag(db, tenant, tag);
  const { id } = await freezeVersion(db, tenant, { name, ...more });
  const { slice } = await sliceOf(tenant, id);
  const whole = { ...slice, recordedBefore: undefined, where: undefined };
  const parts = await cutParts(db, whole, { rows: 12, bytes: 2 ** 40 });
  await db.query(
    sql`update dataset_versions set parts = ${JSON.stringify(parts)}::json where id = ${id}`,
  );
  return id;
}

const sliceOf = (tenant: string, id: string) => readVersionSlice(db, { tenant, id, tenants: null });

/** All pages of a comparison, added up as a client does. */
async function walk(id: string, to: string, limit = 100) {
  const kinds: Record<'added' | 'gone' | 'moved', Difference[]> = {
    added: [],
    gone: [],
    moved: [],
  };
  let isSplit = true;
  let pages = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await diffVersions(tools, testActor, { id, to, limit, ...(cursor && { cursor }) });
    pages += 1;
    kinds.added.push(page.added);
    kinds.gone.push(page.gone);
    if (page.moved === null) isSplit = false;
    else kinds.moved.push(page.moved);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return {
    added: joinDifferences(kinds.added, limit),
    gone: joinDifferences(kinds.gone, limit),
    moved: isSplit ? joinDifferences(kinds.moved, limit) : null,
    pages,
  };
}

/** The keys of a version, with the split of each. */
async function readAll(tenant: string, id: string): Promise<Map<string, string>> {
  const { slice } = await sliceOf(tenant, id);
  const keys = new Map<string, string>();
  for (const split of slice.shares === undefined
    ? [undefined]
    : (['train', 'validation', 'test'] as const)) {
    const options = { after: null, descending: false, limit: 500 };
    const { rows } = await tiers.scan({ ...slice, split }, options);
    for (const row of rows)
      keys.set(`${row.store} ${row.occurred_at} ${row.event_id}`, split ?? '');
  }
  return keys;
}

const textOf = ({ store: own, occurred_at, event_id }: Difference['records'][number]) =>
  `${own} ${occurred_at} ${event_id}`;

async function expectDiff(tenant: string, id: string, to: string) {
  const [own, other] = [await readAll(tenant, id), await readAll(tenant, to)];
  const [here, there] = [[...own.keys()].sort(), [...other.keys()].sort()];
  const expected = {
    added: there.filter((key) => !own.has(key)),
    gone: here.filter((key) => !other.has(key)),
    moved: there.filter((key) => own.has(key) && own.get(key) !== other.get(key)),
  };
  const found = await walk(id, to);
  expect(found.added).toMatchObject({ count: expected.added.length });
  expect(found.added.records.map(textOf)).toEqual(expected.added);
  expect(found.gone.records.map(textOf)).toEqual(expected.gone);
  expect(found.gone.count).toBe(expected.gone.length);
  if (found.moved !== null) expect(found.moved.records.map(textOf)).toEqual(expected.moved);
  return { ...expected, pages: found.pages };
}

const variants: readonly [name: string, before: Frozen, after: Frozen][] = [
  ['later records', {}, {}],
  [
    'other tags',
    { tags: [{ store: 'S0' }, { from: '2001-03-02', to: '2001-03-03' }] },
    { tags: [{ from: '2001-03-03' }] },
  ],
  ['another where', { where: 'n < 20' }, { where: 'n >= 10 and camera != "c3"' }],
  ['a where or none', { where: 'n < 20' }, {}],
  ['other shares', { shares }, { shares: { train: 10, validation: 10, test: 80 } }],
  ['groups or none', { shares }, { shares, group_by: 'camera', where: 'n < 30' }],
];

test.each(variants)(
  '%s: what is added, gone and moved is exact in both tiers',
  async (name, before, after) => {
    const tenant = name;
    await store(tenant, 40);
    const id = await make(tenant, 'before', before);
    await store(tenant, 9, 'late');
    const to = await make(tenant, 'after', after);
    await store(tenant, 3, 'too late');
    const hot = [await expectDiff(tenant, id, to), await expectDiff(tenant, to, id)];
    expect(hot[0]?.gone).toEqual(hot[1]?.added);
    expect(
      hot.reduce((sum, { added, moved }) => sum + added.length + moved.length, 0),
    ).toBeGreaterThan(0);
    for (const [seg, filter] of [
      ['a', `store = 'S1'`],
      ['b', 'true'],
    ] as const) {
      await freeze(db, cold, { tenant, id: `seg_${tenant.replaceAll(' ', '_')}_${seg}`, filter });
      expect([await expectDiff(tenant, id, to), await expectDiff(tenant, to, id)]).toEqual(hot);
    }
  },
);

test('what the definitions rule out is not read, and a version does not differ from itself', async () => {
  await store('plans', 40);
  const id = await make('plans', 'v1', { shares });
  await store('plans', 5, 'late');
  const to = await make('plans', 'v2', { shares, where: 'n < 100' });
  const [own, other] = [await sliceOf('plans', id), await sliceOf('plans', to)];
  const plan = planDiff(own, other);
  expect(plan.added.slice.beside).toMatchObject({
    unlike: { recordedBefore: own.slice.recordedBefore },
  });
  expect(plan.gone.slice.beside).toMatchObject({ unlike: { where: 'n < 100' } });
  expect(plan.moved?.parts).toEqual([]);
  const none = { count: 0, records: [] };
  expect(await walk(id, id)).toEqual({ added: none, gone: none, moved: none, pages: 1 });
  const { added, pages } = await walk(id, to, 2);
  expect(added).toMatchObject({
    count: 5,
    records: [{ event_id: 'late0' }, { event_id: 'late3' }],
  });
  expect(pages).toBeGreaterThan(3);
});

test('refuses what is no version, or of another tenant, and cursors of other pairs', async () => {
  await store('refused', 40);
  await store('other', 4);
  const [id, to] = [await make('refused', 'v1'), await make('refused', 'v2', { where: 'n < 9' })];
  const foreign = await make('other', 'v1');
  const diff = (request: { id: string; to: string; cursor?: string }, actor = testActor) =>
    diffVersions(tools, actor, request);
  const fails = (request: Parameters<typeof diff>[0], code: string, actor = testActor) =>
    expect(diff(request, actor)).rejects.toMatchObject({ code });
  // Of no version it is known whose it would be.
  await expect(diff({ id, to: 'ver_none' })).rejects.toMatchObject({
    code: 'version_not_found',
    detail: expect.stringMatching(/^There is no dataset version/),
  });
  await fails({ id: '%00', to }, 'version_not_found');
  await fails({ id, to: foreign }, 'request_invalid');
  await fails({ id, to }, 'version_not_found', { ...testActor, tenants: ['other'] });
  const cursor = (await diff({ id, to })).next_cursor ?? '';
  await fails({ id: to, to: id, cursor }, 'cursor_invalid');
  await db.query(sql`update dataset_versions set changed_at = now() where id = ${to}`);
  await fails({ id, to, cursor }, 'version_changed');
  await db.query(sql`delete from dataset_versions where id = ${to}`);
  await fails({ id, to, cursor }, 'version_not_found');
});

test('notices what went while the only page was read', async () => {
  await store('during', 10);
  const [id, to] = [await make('during', 'v1'), await make('during', 'v2', { where: 'n < 5' })];
  let isChanged = false;
  const transaction: typeof db.transaction = async (work, options) => {
    const result = await db.transaction(work, options);
    if (!isChanged)
      await db.query(sql`update dataset_versions set changed_at = now() where id = ${to}`);
    isChanged = true;
    return result;
  };
  const during = { ...tools, db: { ...db, transaction } };
  await expect(diffVersions(during, testActor, { id, to })).rejects.toMatchObject({
    code: 'version_changed',
  });
});
