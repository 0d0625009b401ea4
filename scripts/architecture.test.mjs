import { expect, test } from 'vitest';
import { checkArchitecture, findStaleNames } from './architecture.mjs';

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

test('the document of this repository is true', () => {
  expect(checkArchitecture()).toBe('');
});
