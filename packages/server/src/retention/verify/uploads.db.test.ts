import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { useS3 } from '../../../test/s3.ts';
import { use } from '../../../test/use.ts';
import { createLog } from '../../platform/log.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { ourFolders } from './find-orphans.ts';
import { endOldUploads, findUploads } from './uploads.ts';

const db = useTestDatabase();
const s3 = useS3();
const prefix = 'uploads';
const store = use(
  () => createS3Store(s3.urlOf(prefix)),
  (made) => made.close(),
);
afterEach(async () => {
  s3.behave(() => 'pass');
  for await (const upload of store.listUploads('')) await store.endUpload(upload);
});

const log = createLog('silent');
const fence = { advance: async () => {} };
const signal = new AbortController().signal;
const dayMillis = 24 * 3_600_000;
const now = () => Date.now();
const tomorrow = () => Date.now() + dayMillis + 60_000;
/** In a bucket that others use, too. */
const foreign = [
  'backups/of-somebody-else',
  'exports/nightly-of-somebody-else.parquet',
  'records/other-app/big.bin',
];
const name = (id: string) => `records/tenant=TX/2001-01-01_2001-01-02_${id}.parquet`;

async function found(clock: () => number, prefixes: readonly string[] = ourFolders) {
  const problems: VerifyProblem[] = [];
  const add = (some: readonly VerifyProblem[]) => void problems.push(...some);
  await findUploads(db, store, { prefixes, clock, log, signal, add });
  return problems.map(({ kind, tenant, object_key }) => [kind, tenant, object_key]);
}
async function keysLeft(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.listUploads('')) keys.push(key);
  return keys.sort();
}

test('uploads that nobody waits for are named, others only when they are a day old', async () => {
  await db.query(sql`
    insert into moves (tenant, id, kind, state, first_day, last_day, runner)
    values ('TX', 'mv_1', 'move', 'planned', '2001-01-01', '2001-01-02', 'r')`);
  await db.query(sql`
    insert into move_segments (tenant, move_id, segment_id, role, object_key)
    values ('TX', 'mv_1', 'seg_open', 'out', ${name('seg_open')})`);
  for (const key of [
    name('seg_open'),
    name('seg_left'),
    'exports/tenant=CA/exp_1/1.1',
    ...foreign,
  ]) {
    await s3.beginUpload(prefix, key);
  }
  const left = ['upload_unfinished', 'TX', name('seg_left')];
  const ofExport = ['upload_unfinished', 'CA', 'exports/tenant=CA/exp_1/1.1'];
  expect(await found(now)).toEqual([left, ofExport]);
  expect(await found(now, ['records/tenant=TX/'])).toEqual([left]);
  const open = ['upload_unfinished', 'TX', name('seg_open')];
  expect(await found(tomorrow)).toEqual([left, open, ofExport]);
});

test('uploads of a day are ended, younger ones and those of others never', async () => {
  const ours = [name('seg_1'), 'records/tenant=TX/old.parquet', 'exports/tenant=CA/exp_1/1.1'];
  for (const key of [...ours, ...foreign]) await s3.beginUpload(prefix, key);
  await endOldUploads({ store, fence }, { clock: now, log, signal });
  expect(await keysLeft()).toEqual([...ours, ...foreign].sort());
  const fenced = { advance: () => Promise.reject(new Error('it is of another database')) };
  const ended = endOldUploads({ store, fence: fenced }, { clock: tomorrow, log, signal });
  await expect(ended).rejects.toThrow('of another database');
  expect(await keysLeft()).toEqual([...ours, ...foreign].sort());
  await endOldUploads({ store, fence }, { clock: tomorrow, log, signal });
  expect(await keysLeft()).toEqual(foreign);
});

test('a store that does not let uploads be listed is no difference', async () => {
  await s3.beginUpload(prefix, name('seg_1'));
  s3.behave((_, path) => (path.includes('uploads') ? 'deny' : 'pass'));
  expect(await found(tomorrow)).toEqual([]);
  await endOldUploads({ store, fence }, { clock: tomorrow, log, signal });
});
