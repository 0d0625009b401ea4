// What the package was made of, as an unsigned statement of in-toto with the predicate of SLSA:
// https://slsa.dev/spec/v1.0/provenance
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from './program.mjs';

/** The statement about a file that npm has packed. It has no time, so the same commit makes the same one. */
export function provenanceOf(path, { npm_config_user_agent: agent = '' } = process.env) {
  const gitCommit = commitOf(root);
  const lockfile = 'package-lock.json';
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: basename(path), digest: { sha256: sha256Of(path) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:svcctl:npm-pack:1',
        externalParameters: { workspace: 'packages/server' },
        internalParameters: { node: process.versions.node, npm: /npm\/(\S+)/.exec(agent)?.[1] },
        resolvedDependencies: [
          ...(gitCommit === null ? [] : [{ name: 'commit', digest: { gitCommit } }]),
          { name: lockfile, digest: { sha256: sha256Of(join(root, lockfile)) } },
        ],
      },
      runDetails: { builder: { id: 'urn:svcctl:whoever-ran-npm-pack' } },
    },
  };
}

export function sha256Of(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/**
 * The commit that lies in a folder as it is; null outside of git, where a file of it is another one, and where there is one
 * more that git does not ignore. Packages, and what lies beside them, are no part of the next one.
 */
export function commitOf(folder) {
  const git = (...args) =>
    execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    const isOwn = git('rev-parse', '--show-prefix') === '';
    const changes = git('status', '--porcelain', '--untracked-files=all').split('\n');
    const isSame = changes.every((line) => line === '' || /^\?\? .*\.tgz[^/]*$/.test(line));
    return isOwn && isSame ? git('rev-parse', 'HEAD') : null;
  } catch {
    return null;
  }
}
