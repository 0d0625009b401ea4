import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lookAtFolder } from './examine-here.ts';

let dir: string;
let madeMillis: number;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svcctl-here-'));
  const token = join(dir, 'admin-token');
  await writeFile(token, 'svc_1\n', { mode: 0o600 });
  madeMillis = (await stat(token)).mtimeMs;
});
afterEach(() => rm(dir, { recursive: true }));

const days = (count: number) => madeMillis + count * 86_400_000;

test('the token of the first start may lie in the data folder for 30 days', async () => {
  expect(await lookAtFolder(dir, days(30.9))).toMatchObject([{ severity: 'ok' }]);
});

test('after that it is named, with the command that retires it', async () => {
  const [found] = await lookAtFolder(dir, days(31));
  expect(found?.severity).toBe('warning');
  expect(found?.text).toContain(join(dir, 'admin-token'));
  expect(found?.text).toContain('31 days');
  expect(found?.command).toContain('svcctl tokens revoke ID');
});
