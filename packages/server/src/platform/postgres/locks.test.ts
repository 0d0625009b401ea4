import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { advisoryLocks } from './locks.ts';

const source = new URL('../../', import.meta.url).pathname;
/**
 * A lock taken by anything but a name of the table, or by SQL whose name ends in `Lock` and that is made of one; or looked
 * for by its number.
 */
const withoutName =
  /pg_(?:try_)?advisory_(?:xact_)?(?:un)?lock(?:_shared)?\(\s*(?!\$\{(?:advisoryLocks(?:\.\w+|\[\w+\])|\w+Lock\b)|lock, number\))|\b(?:classid|objid)\s*=\s*\d/;
/** What is given a name: functions, since locks.ts takes no other, and the kinds of jobs. */
const named = /(?:\btryLock\(\w+, |\bwithSessionLock\(\s*\w+,\s*\{ name: |\block: )'([a-z]\w*)'/g;

test('no two advisory locks have the same number', () => {
  const numbers = Object.values(advisoryLocks);
  expect(new Set(numbers).size).toBe(numbers.length);
  for (const number of numbers) expect(Number.isSafeInteger(number)).toBe(true);
});

test('every advisory lock is taken by its name', async () => {
  const names = await readdir(source, { recursive: true });
  const files = names.filter((name) => /\.(ts|sql)$/.test(name) && !name.endsWith('locks.test.ts'));
  const nameless: string[] = [];
  const taken = new Set<string>();
  for (const name of files) {
    const text = await readFile(join(source, name), 'utf8');
    if (!name.endsWith('/locks.ts') && withoutName.test(text)) nameless.push(name);
    for (const [, lock = ''] of text.matchAll(/advisoryLocks\.(\w+)/g)) taken.add(lock);
    for (const [, lock = ''] of text.matchAll(named)) taken.add(lock);
  }
  expect(nameless).toEqual([]);
  expect([...taken].sort()).toEqual(Object.keys(advisoryLocks).sort());
});
