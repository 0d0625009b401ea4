import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findCommit } from './build.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svcctl-commit-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a build outside of a checkout has the commit that it is given, or none', async () => {
  expect(await findCommit(folder)).toBe('');
  expect(await findCommit(folder, 'abc1234def')).toBe('abc1234');
  expect(await findCommit(folder, 'main')).toBe('');
});

test('a build of a checkout has its commit, and says when its sources differ', async () => {
  const git = (...args) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
  mkdirSync(join(folder, 'packages'));
  const source = join(folder, 'packages', 'a.ts');
  writeFileSync(source, 'a');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'a');
  const head = git('rev-parse', '--short=7', 'HEAD').toString().trim();
  expect(await findCommit(folder, 'abc1234')).toBe(head);
  // A copy that lies in it is no checkout of ours.
  expect(await findCommit(join(folder, 'packages'))).toBe('');
  writeFileSync(source, 'b');
  expect(await findCommit(folder)).toBe(`${head}.changed`);
});
