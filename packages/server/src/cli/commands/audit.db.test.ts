import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useS3 } from '../../../test/s3.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import { ends, useFolder } from '../testing/run.ts';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = useFolder();
const s3 = useS3();
const { service, cli, ok } = useServiceCli({}, folder);

/** Copies the log as the service does: each entry an object of its own, below a day. */
async function copyTo(put: (key: string, path: string) => Promise<void>) {
  const { stdout } = await ok('audit export');
  const lines = stdout.trimEnd().split('\n');
  const keys: string[] = [];
  for (const line of lines) {
    const { place, hash } = JSON.parse(line) as { place: number; hash: string };
    const name = String(place).padStart(15, '0');
    const key = `audit/2026-03-05/${name}-${name}-${hash.slice(0, 8)}.ndjson`;
    const path = join(folder.path, 'one.ndjson');
    await writeFile(path, `${line}\n`);
    await put(key, path);
    keys.push(key);
  }
  return keys;
}

test('a copy in a bucket, and in a folder, proves the log up to where it was copied', async () => {
  for (const name of ['a', 'b', 'c']) await service.makeToken({ name, preset: 'curator' });
  const url = s3.urlOf('audit copy');
  const bucket = await createS3Store(url);
  const copies = join(folder.path, 'copies');
  await mkdir(join(copies, 'audit/2026-03-05'), { recursive: true });
  const keys = await copyTo((key, path) => bucket.put(key, path));
  await copyTo((key, path) => copyFile(path, join(copies, key)));
  const places = [url, 'copies', 'copies/audit/2026-03-05', `file://${copies}`];
  for (const place of places) await ends(cli(`audit verify --against ${place}`), 0, /^ok: /, []);

  // One that is missing in between says nothing of the log, and somebody should know of it.
  await bucket.remove(keys[1] ?? '');
  await ends(cli(`audit verify --against ${url}`), 0, /^ok: /, ['lacks the entry of place 2']);

  // Whoever changes the log in the database, and computes all hashes anew, does not change the copy.
  await service.db.query(
    sql`update audit_log set target = 'tok_other' where id = (select max(id) from audit_log)`,
  );
  await service.db.query(sql`
    update audit_links set hash = sha256(hash) where place = (select max(place) from audit_links)`);
  expect((await cli(`audit verify --against ${url} --json`)).stdout).toContain('head_differs');
  await bucket.close();
});

test('a place that is none, or holds no copy, is said so', async () => {
  await ends(cli('audit verify --against s3://-/copy?region=eu-central-1'), 2, [
    'the place of the copy names no bucket',
  ]);
  await ends(cli('audit verify --against .'), 1, ['holds no entry']);
});
