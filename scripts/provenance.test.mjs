import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root } from './program.mjs';
import { commitOf, provenanceOf, sha256Of } from './provenance.mjs';

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'svcctl-provenance-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('the statement has the digest of the file, the versions that made it, and the lockfile', () => {
  const path = join(newFolder(), 'svcctl-1.tgz');
  writeFileSync(path, 'abc');
  const agent = { npm_config_user_agent: 'npm/10.9.2 node/v22.1.0 linux x64' };
  const { subject, predicate } = provenanceOf(path, agent);
  const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  expect(subject).toEqual([{ name: 'svcctl-1.tgz', digest: { sha256 } }]);
  const { internalParameters, resolvedDependencies } = predicate.buildDefinition;
  expect(internalParameters).toEqual({ node: process.versions.node, npm: '10.9.2' });
  const lockfile = {
    name: 'package-lock.json',
    digest: { sha256: sha256Of(join(root, 'package-lock.json')) },
  };
  expect(resolvedDependencies).toContainEqual(lockfile);
});

test('a commit is named only where the folder is what it says', () => {
  const folder = newFolder();
  expect(commitOf(folder)).toBe(null);
  const git = (...args) =>
    execFileSync('git', ['-C', folder, ...args], { stdio: 'pipe', encoding: 'utf8' });
  git('init');
  writeFileSync(join(folder, 'file'), '');
  git('add', 'file');
  git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--message', 'first');
  // As the package itself, which npm puts there.
  writeFileSync(join(folder, 'new-1.tgz'), '');
  writeFileSync(join(folder, 'new-1.tgz.sha256'), '');
  expect(commitOf(folder)).toBe(git('rev-parse', 'HEAD').trim());
  writeFileSync(join(folder, 'new.ts'), '');
  expect(commitOf(folder)).toBe(null);
  rmSync(join(folder, 'new.ts'));
  writeFileSync(join(folder, 'file'), 'changed');
  expect(commitOf(folder)).toBe(null);
});
