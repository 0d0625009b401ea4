import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  mkdirSync(join(folder, 'packages'));
  const source = join(folder, 'packages', 'a.ts');
  writeFileSync(source, 'a');
  const head = commitAll();
  expect(await findCommit(folder, 'abc1234')).toBe(head);
  // A copy that lies in it is no checkout of ours.
  expect(await findCommit(join(folder, 'packages'))).toBe('');
  writeFileSync(source, 'b');
  expect(await findCommit(folder)).toBe(`${head}.changed`);
});

test('a build beside a pack does not take the manifest of the package for a change', async () => {
  const server = join(folder, 'packages', 'server');
  mkdirSync(server, { recursive: true });
  writeFileSync(join(server, 'package.json'), 'ours');
  const head = commitAll();
  renameSync(join(server, 'package.json'), join(server, '.package.json.before'));
  writeFileSync(join(server, 'package.json'), "the package's");
  expect(await findCommit(folder)).toBe(head);
});

/** Makes the folder a checkout whose commit has all that lies in it; returns the beginning of its name. */
function commitAll() {
  const git = (...args) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'a');
  return git('rev-parse', '--short=7', 'HEAD').toString().trim();
}
