import { expect, test } from 'vitest';
import { splitTarget } from './words.ts';

test.each([
  ['https://hooks.acme.example/tenant/in', ['https://hooks.acme.example/tenant', '/in']],
  ['https://hooks.acme.example', ['https://hooks.acme.example', '']],
  [
    'http://a.example/abcdefghijklmnopqrstuvwxyz',
    ['http://a.example/abcdefghijklmnopqrstuvwxyz', ''],
  ],
])('the target %s keeps its end', (target, parts) => {
  expect(splitTarget(target)).toEqual(parts);
});
