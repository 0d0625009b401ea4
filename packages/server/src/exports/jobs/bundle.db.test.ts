import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { formatDigest } from '../../kernel/digest.ts';
import { cutParts, measureSlice } from '../../records/index.ts';
import { splitNames } from '../../records/values.ts';
import type { Manifest } from '../jobs.contract.ts';
import { listParts } from './queries.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
beforeAll(() => exports.ingestBothTiers('T', 100));
beforeEach(() => exports.db.query(sql`delete from exports`));

const days = { from: '2001-03-02', until: '2001-03-06' };

/** A version as `POST /enrichment/dataset-versions` freezes it, with the count of each split. */
async function insertVersion(id: string, shares: readonly number[] | null, until = days.until) {
  const tags = { training: [{ store: null, ...days, until }], fine_tuning: [] };
  const slice = { tenant: 'T', dataset: 'training', tags, tenants: null } as const;
  const parts = await cutParts(exports.db, slice, { rows: 15, bytes: 2 ** 40 });
  const { count, bytes, digest } = await measureSlice(exports.db, slice, exports.cold);
  const [train, validation, test] = shares ?? [0, 0, 0];
  const splits: Record<string, object> = {};
  for (const split of splitNames) {
    const of = { ...slice, split, shares: { train, validation, test } as never };
    const triple = await measureSlice(exports.db, of, exports.cold);
    splits[split] = { count: triple.count, digest: triple.digest };
  }
  await exports.db.query(sql`
    insert into dataset_versions (tenant, id, dataset, name, train_share, validation_share, test_share,
      slices, tags, recorded_before, count, bytes, digest, splits, parts, state, note, created_by)
    values ('T', ${id}, 'training', ${`v ${id}`}, ${shares && train}, ${shares && validation}, ${shares && test},
      '[]', ${JSON.stringify(tags)}::json, clock_timestamp(), ${count}, ${bytes}, ${digest}::numeric,
      ${shares && JSON.stringify(splits)}::json, ${JSON.stringify(parts)}::json, 'ready', 'its note', 'test')`);
  return { count, digest, parts };
}

const create = (version: string) => exports.create('bundle', { tenant: 'T', version });

/** Unpacks the file of a completed job, as tar does, and checks all sums. */
async function unpack(id: string) {
  const job = await exports.job(id);
  expect(job, job.error ?? '').toMatchObject({ state: 'completed' });
  const bytes = await exports.file(id);
  expect(job.size_bytes).toBe(bytes.length);
  expect(job.sha256?.toString('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-bundle-'));
  try {
    await writeFile(join(dir, 'b.tar'), bytes);
    const names = execFileSync('tar', ['xvf', 'b.tar'], { cwd: dir, encoding: 'utf8' });
    execFileSync('sha256sum', ['--quiet', '--strict', '-c', 'SHA256SUMS'], { cwd: dir });
    const read = (name: string) => readFile(join(dir, name), 'utf8');
    const manifests: Record<string, Manifest> = {};
    for (const name of await readdir(join(dir, 'manifests'))) {
      manifests[name.replace('.json', '')] = JSON.parse(await read(`manifests/${name}`));
    }
    const rows: Record<string, unknown> = {};
    for (const name of await readdir(join(dir, 'data'))) {
      const path = join(dir, 'data', name);
      const found = await exports.cold.duckdb.run(
        `select count(*)::integer as rows, count(distinct event_id)::integer as ids from read_parquet('${path}')`,
      );
      rows[name.split('-')[0] ?? ''] = found[0];
    }
    return {
      job,
      names: names.trim().split('\n'),
      manifests,
      rows,
      card: await read('README.md'),
      statistics: JSON.parse(await read('statistics.json')),
    };
  } finally {
    await rm(dir, { recursive: true });
  }
}

test('a bundle is one tar of all splits, whose sums come last', async () => {
  const frozen = await insertVersion('ver_1', [60, 20, 20]);
  const { id, file_name } = await create('ver_1');
  expect(file_name).toBe('T_v-ver_1.tar');
  await exports.work();
  const { job, names, manifests, rows, card, statistics } = await unpack(id);
  expect(names).toEqual([
    ...splitNames.map((name) => `data/${name}-00000-of-00001.parquet`),
    ...splitNames.map((name) => `manifests/${name}.json`),
    ...['statistics.json', 'README.md', 'SHA256SUMS'],
  ]);
  expect(frozen.parts.length).toBeGreaterThan(2);
  expect(job).toMatchObject({
    rows_done: frozen.count,
    digest: frozen.digest,
    parts_total: 3 * frozen.parts.length,
    manifest: { format: 'bundle', rows: frozen.count },
  });
  for (const name of splitNames) {
    const split = job.manifest?.splits?.[name];
    expect(manifests[name]).toMatchObject({
      ...split,
      format: 'parquet',
      request: { split: name },
    });
    expect(rows[name]).toEqual({ rows: split?.rows, ids: split?.rows });
    expect(statistics[name]).toMatchObject({ rows: split?.rows, misfits: { rows: 0 } });
    expect(card).toContain(`  - name: ${name}\n    num_bytes: ${manifests[name]?.bytes}\n`);
  }
  expect(card).toContain(': its note.');
  expect(card).toContain(`\`${formatDigest(BigInt(frozen.digest))}\``);
});

test.each([
  ['without shares all is train', 'ver_w', null, ['train']],
  ['a split without a share has no file', 'ver_s', [70, 0, 30], ['test', 'train']],
] as const)('%s', async (_, version, shares, expected) => {
  const { count } = await insertVersion(version, shares);
  const { id } = await create(version);
  await exports.work();
  const { rows } = await unpack(id);
  expect(Object.keys(rows).sort()).toEqual(expected);
  const all = Object.values(rows as Record<string, { rows: number }>);
  expect(all.reduce((sum, split) => sum + split.rows, 0)).toBe(count);
});

test('a version of which nothing is left has files without rows', async () => {
  await insertVersion('ver_e', [60, 20, 20], days.from);
  const { id } = await create('ver_e');
  await exports.work();
  const { rows, job } = await unpack(id);
  expect(job).toMatchObject({ rows_done: 0, parts_total: 0 });
  const none = { rows: 0, ids: 0 };
  expect(rows).toEqual({ train: none, validation: none, test: none });
});

test('an attempt goes on with the parts of the one before, also when their end was being written', async () => {
  await insertVersion('ver_k', [60, 20, 20]);
  const { id } = await create('ver_k');
  const killsAt = (isLast: (key: string) => boolean) =>
    exports.storeWith((key) => {
      if (isLast(key)) throw new Error('killed');
    });
  await exports.work(killsAt((key) => /\/5\./.test(key)));
  const keysOf = async () => {
    const parts = await listParts(exports.db, await exports.job(id));
    return parts.flatMap((part) => (part.rows === null ? [] : [part.object_key]));
  };
  const early = await keysOf();
  expect(early.length).toBeGreaterThan(0);
  await exports.work(killsAt((key) => key.includes('/ends.')));
  const all = await keysOf();
  expect(all).toEqual(expect.arrayContaining(early));
  await exports.work();
  expect(await keysOf()).toEqual(all);
  const { rows, job } = await unpack(id);
  expect(Object.keys(rows)).toHaveLength(3);
  expect(job.attempts).toBe(3);
});

test('a split that is not what was counted fails the job', async () => {
  await insertVersion('ver_c', [60, 20, 20]);
  await exports.db.query(sql`
    update dataset_versions set splits = json_build_object('train', splits->'train',
      'validation', splits->'test', 'test', splits->'validation') where id = 'ver_c'`);
  const { id } = await create('ver_c');
  await exports.work();
  expect(await exports.job(id)).toMatchObject({
    state: 'failed',
    error_code: 'version_changed',
    error: expect.stringContaining('validation of v ver_c has '),
    has_file: false,
    ends: null,
  });
});
