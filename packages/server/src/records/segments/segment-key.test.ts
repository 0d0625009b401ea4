import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assertObjectKey } from '../../platform/objects/objects.ts';
import { segmentKey, tenantFolder, tenantOfFolder } from './segment-key.ts';

test('a key tells tenant, days and id', () => {
  const segment = { tenant: 'TX', id: 'seg_1', firstDay: '2001-03-01', lastDay: '2001-03-31' };
  expect(segmentKey(segment)).toBe('records/tenant=TX/2001-03-01_2001-03-31_seg_1.parquet');
});

test.each([
  ['a b=c%', 'tenant=a%20b%3Dc%25'],
  ["*?[x]'(!)", 'tenant=%2A%3F%5Bx%5D%27%28%21%29'],
  ['..', 'tenant=..'],
  ['é', 'tenant=%C3%A9'],
])('the tenant %s is percent-encoded', (tenant, folder) => {
  expect(tenantFolder(tenant)).toBe(folder);
});

test('the longest names make keys that every store takes, all of them different', () => {
  const folders = ['a', 'b'].map((end) => tenantFolder('漢'.repeat(127) + end));
  expect(new Set(folders).size).toBe(2);
  for (const folder of folders) {
    assertObjectKey(`records/${folder}/2001-03-01_2001-03-31_seg_0123456789012345.parquet`);
    expect(folder).toMatch(/^tenant=(%[0-9A-F]{2})+~[0-9a-f]{16}$/);
  }
});

test('a long name is cut between two characters, so that readers can decode it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 80, maxLength: 128 }),
      fc.constantFrom('', 'a', 'ab', 'abc'),
      (name, first) => {
        const tenant = first + name;
        const folder = tenantFolder(tenant);
        expect(folder.length).toBeLessThanOrEqual(255);
        const [cut = '', hash] = folder.slice('tenant='.length).split(/~(?=[0-9a-f]{16}$)/);
        expect(tenant.startsWith(decodeURIComponent(cut))).toBe(true);
        if (hash === undefined) expect(decodeURIComponent(cut)).toBe(tenant);
      },
    ),
  );
});

test('a folder tells its tenant, and one whose name was cut tells none', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }), (tenant) => {
      const folder = tenantFolder(tenant);
      expect([tenant, null]).toContain(tenantOfFolder(folder));
      if (folder.length < 240) expect(tenantOfFolder(folder)).toBe(tenant);
    }),
  );
  for (const tenant of ['漢'.repeat(100), ' '.repeat(100), `a${'é'.repeat(120)}`]) {
    expect(tenantOfFolder(tenantFolder(tenant))).toBeNull();
  }
  expect(tenantOfFolder('tenant=a~0123456789abcdef')).toBe('a~0123456789abcdef');
  expect(tenantOfFolder('tenant=%C3')).toBeNull();
  expect(tenantOfFolder('tenant=')).toBeNull();
});
