import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { markRestore } from '../platform/restore-mark.ts';
import { lookAtFolder } from './examine-here.ts';

const dir = useFolder();
let madeMillis: number;
beforeEach(async () => {
  const token = join(dir.path, 'admin-token');
  await writeFile(token, 'svc_1\n', { mode: 0o600 });
  madeMillis = (await stat(token)).mtimeMs;
});

const days = (count: number) => madeMillis + count * 86_400_000;

test('the token of the first start may lie in the data folder for 30 days', async () => {
  expect(await lookAtFolder({ dataDir: dir.path }, days(30.9))).toMatchObject([{ severity: 'ok' }]);
});

test('after that it is named, with the command that retires it', async () => {
  const [found] = await lookAtFolder({ dataDir: dir.path }, days(31));
  expect(found?.severity).toBe('warning');
  expect(found?.text).toContain(join(dir.path, 'admin-token'));
  expect(found?.text).toContain('31 days');
  expect(found?.command).toContain('svcctl tokens revoke ID');
});

test('a missing key of webhook secrets is a problem where there is a database, and no other key is set', async () => {
  const secretKey = 'x'.repeat(32);
  const look = (more = {}) => lookAtFolder({ dataDir: dir.path, ...more }, days(0));
  expect(await look()).toMatchObject([{ severity: 'ok' }]);
  await mkdir(join(dir.path, 'postgres'));
  await writeFile(join(dir.path, 'postgres', 'PG_VERSION'), '18\n');
  const [found] = await look();
  expect(found?.text).toContain(`${join(dir.path, 'secret-key')} is missing`);
  expect(await look({ secretKey })).toMatchObject([{ severity: 'ok' }]);
  // A restore writes it at its end: nobody is to make another one until then.
  const restore = await markRestore({ dataDir: dir.path }, { id: 'bkp_1', place: '/mnt' });
  expect(await look()).toMatchObject([{ severity: 'ok' }]);
  await restore.remove();
  await writeFile(join(dir.path, 'secret-key'), secretKey, { mode: 0o600 });
  expect(await look()).toMatchObject([{ severity: 'ok' }]);
});
