// Before npm packs packages/server, puts beside it what the package holds of the rest of the repository; with --undo
// takes it away again, and writes the checksum of the package beside it, and what it was made of. package.json of the
// server calls this, so `npm pack --workspace packages/server` is all it takes.
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { build, manifestBefore } from './build.mjs';
import { collectLicenses } from './licenses.mjs';
import { pinsOf, shrinkwrapOf } from './lockfile.mjs';
import { isMain, root, tellingFaults } from './program.mjs';
import { provenanceOf, sha256Of } from './provenance.mjs';
import { makeSbom } from './sbom.mjs';
import { ensureInstalled } from './setup.mjs';

/** What is copied from where, and under which name of the package. */
export const copies = [
  { from: join('packages', 'console', 'dist'), to: 'console' },
  { from: 'deploy', to: 'deploy' },
  { from: 'CHANGELOG.md', to: 'CHANGELOG.md' },
  { from: 'SECURITY.md', to: 'SECURITY.md' },
  // Errors and findings name them.
  { from: 'docs', to: 'docs' },
];

const licenses = 'THIRD-PARTY-LICENSES.txt';
const sbom = 'sbom.cdx.json';
const shrinkwrap = 'npm-shrinkwrap.json';
const manifest = 'package.json';
const demoData = join('demo', 'data');

async function prepare() {
  await ensureInstalled();
  // What a pack that was killed has left is no part of what is built.
  undo();
  await build();
  for (const { from, to } of copies) {
    cpSync(join(root, from), placeOf(to), { recursive: true, preserveTimestamps: true });
  }
  // Loaded only now, because it uses what npm installs, and because what it finds must not be a part already.
  const { writeDemoData } = await import('./demo-data.mjs');
  await writeDemoData(placeOf(demoData));
  writeFileSync(placeOf(licenses), collectLicenses());
  writeFileSync(placeOf(sbom), textOf(makeSbom()));
  const lock = shrinkwrapOf('packages/server');
  writeFileSync(placeOf(shrinkwrap), textOf(lock));
  renameSync(placeOf(manifest), manifestBefore);
  const described = JSON.parse(readFileSync(manifestBefore, 'utf8'));
  writeFileSync(placeOf(manifest), textOf({ ...described, ...pinsOf(lock) }));
}

function undo() {
  if (existsSync(manifestBefore)) renameSync(manifestBefore, placeOf(manifest));
  for (const name of [...copies.map(({ to }) => to), demoData, licenses, sbom, shrinkwrap]) {
    rmSync(placeOf(name), { recursive: true, force: true });
  }
}

/**
 * Writes what `sha256sum --check` reads, and the statement of provenance, beside the file that npm has written by now; for a
 * dry run it writes none.
 */
function writeProof({ npm_config_pack_destination: folder = '.', ...env } = process.env) {
  const { name, version } = JSON.parse(readFileSync(placeOf(manifest), 'utf8'));
  const path = resolve(env.INIT_CWD ?? root, folder, `${name}-${version}.tgz`);
  if (env.npm_config_dry_run === 'true' || !existsSync(path)) return;
  writeFileSync(`${path}.sha256`, `${sha256Of(path)}  ${basename(path)}\n`);
  writeFileSync(`${path}.intoto.json`, textOf(provenanceOf(path)));
}

function textOf(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function placeOf(name) {
  return join(root, 'packages', 'server', name);
}

if (isMain(import.meta.url)) {
  await tellingFaults(async () => {
    if (!process.argv.includes('--undo')) return prepare();
    undo();
    writeProof();
  });
}
