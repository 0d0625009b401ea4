import { expect, test } from 'vitest';
import { assertObjectKey } from '../../platform/objects/objects.ts';
import { segmentKey, tenantFolder } from './segment-key.ts';

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
