import { expect, test } from 'vitest';
import { checkArchitecture, checkSecurity, findStaleNames } from './architecture.mjs';

const tree = {
  files: ['packages/server/src/records/read/pages.ts'],
  folders: ['packages/server/src/records', 'packages/server/src/records/read'],
};

test('names that lead somewhere are told as no fault', () => {
  const text = 'src/records/ has read/ (`records/read/pages.ts`, `pages.ts`), in `records/read/`.';
  expect(findStaleNames(text, tree)).toEqual([]);
});

test('a file or folder that is gone is told, and a folder without a name', () => {
  expect(findStaleNames('records/ · `tiers/` · `read/merge.ts`', tree)).toEqual([
    'names read/merge.ts, which is not there',
    'names tiers/, which is not there',
    'does not name the folder packages/server/src/records/read/',
  ]);
});

test('a test that SECURITY.md names and is gone is told', () => {
  const text = '`access/access.db.test.ts`, `e2e/console/`, `access/gone.test.ts`, `e2e/none/`';
  expect(checkSecurity(text)).toBe(
    'SECURITY.md names access/gone.test.ts, which is not there\nSECURITY.md names e2e/none/, which is not there\n',
  );
});

test('the documents of this repository are true', () => {
  expect(checkArchitecture() + checkSecurity()).toBe('');
});
