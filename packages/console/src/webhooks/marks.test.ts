import { expect, test } from 'vitest';
import { pathEnd } from './marks.tsx';

test.each([
  ['https://hooks.acme.example/tenant/in', '/in'],
  ['https://hooks.acme.example', undefined],
  ['http://a.example/abcdefghijklmnopqrstuvwxyz', undefined],
])('of the target %s stays %s', (target, end) => {
  expect(pathEnd(target)).toBe(end);
});
