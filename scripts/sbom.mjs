// The software bill of materials of the package, in CycloneDX (https://cyclonedx.org/docs/1.5/json/): which libraries are
// built into it and which npm installs with it, in which versions, under which licenses, with the checksums of the lockfile.
import { findBuiltIn } from './licenses.mjs';
import { findUsed, readLockfile } from './lockfile.mjs';

/** Returns the document. It is the same whenever it is made of the same lockfile. */
export function makeSbom(packages = readLockfile()) {
  const { name, version, dependencies } = packages['packages/server'];
  const installed = findUsed(packages, Object.keys(dependencies), 'packages/server');
  const libraries = new Map();
  for (const [found, how] of [
    [installed, 'installed'],
    [findBuiltIn(packages), 'built in'],
  ]) {
    for (const [place, library] of found) {
      const { version: own } = packages[place];
      libraries.set(refOf(library, own), describe({ name: library, ...packages[place] }, how));
    }
  }
  const components = [...libraries.values()].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  const own = { 'bom-ref': refOf(name, version), type: 'application', name, version };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    ...{ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 },
    metadata: { component: { ...own, purl: own['bom-ref'] } },
    components,
  };
}

function describe({ name, version, license, integrity, optional }, how) {
  const ref = refOf(name, version);
  return {
    ...{ 'bom-ref': ref, type: 'library', name, version, purl: ref },
    // What only some platforms have need not be there.
    scope: optional === true ? 'optional' : 'required',
    ...(license && {
      licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    }),
    ...(integrity && { hashes: [hashOf(integrity)] }),
    properties: [{ name: 'svcctl:how', value: how }],
  };
}

/** A checksum as the lockfile has it, `sha512-…` in base64, as CycloneDX has it. */
function hashOf(integrity) {
  const [, algorithm, base64] = /^sha(\d+)-(.+)$/.exec(integrity) ?? [];
  if (base64 === undefined) throw new Error(`no checksum: ${integrity}`);
  return { alg: `SHA-${algorithm}`, content: Buffer.from(base64, 'base64').toString('hex') };
}

/** The package URL (https://github.com/package-url/purl-spec) of an npm package. */
function refOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}
