import { expect, test } from 'vitest';
import { collectLicenses } from './licenses.mjs';
import { shrinkwrapOf } from './lockfile.mjs';
import { makeSbom } from './sbom.mjs';

const { components, metadata } = makeSbom();
const names = components.map(({ name, version }) => `${name} ${version}`);

test('the bill of materials names each library once, with its checksum and its license', () => {
  expect(new Set(components.map((one) => one['bom-ref'])).size).toBe(components.length);
  expect(components.filter(({ hashes }) => !/^[0-9a-f]{128}$/.test(hashes?.[0].content))).toEqual(
    [],
  );
  expect(components.filter(({ licenses }) => licenses === undefined)).toEqual([]);
  expect(metadata.component.purl).toMatch(/^pkg:npm\/svcctl@\d/);
});

test('it has all that is built in, and all that is installed with the package', () => {
  const builtIn = collectLicenses().matchAll(/^(\S+ \d\S*) \(/gm);
  expect([...builtIn].map(([, name]) => name).filter((name) => !names.includes(name))).toEqual([]);
  const { packages } = shrinkwrapOf('packages/server');
  const installed = Object.entries(packages).flatMap(([place, { version }]) =>
    place === '' ? [] : [`${place.slice(place.lastIndexOf('node_modules/') + 13)} ${version}`],
  );
  expect(installed.length).toBeGreaterThan(20);
  expect(installed.filter((name) => !names.includes(name))).toEqual([]);
});
