import { expect, test } from 'vitest';
import { checkSubject, faultOfSubject } from './commit-subject.mjs';

test('a subject of 72 characters is not too long, one of 73 is', () => {
  expect(faultOfSubject('é'.repeat(72))).toBe('');
  expect(faultOfSubject(`area: ${'x'.repeat(67)}`)).toContain('has 73 characters, 72 at most');
});

test('without git, and without a commit, nothing is checked', async () => {
  expect(await checkSubject('/nowhere/git')).toBe('');
  expect(await checkSubject('false')).toBe('');
});
