import { expect, test } from 'vitest';
import { mentionsEvent } from './erase.ts';

const ids = new Set(['fl-0812', '9007199254740993', 'übel/ä"b']);
const inBody = (body: string) => mentionsEvent({ body, key: null }, ids);
const inKey = (key: string) => mentionsEvent({ body: null, key }, ids);

test('an id is found as any string or number of the payload, however it is spelled', () => {
  expect(inBody('{"data":{"list":[1,{"event":"fl-0812"}]}}')).toBe(true);
  expect(inBody('{"data":{"fl-0812":1}}')).toBe(true);
  expect(inBody('{"data":"fl\\u002d0812"}')).toBe(true);
  expect(inBody('{"data":9007199254740993}')).toBe(true);
  expect(inBody('{"data":["\\"","\\u00fcbel\\/ä\\"b"]}')).toBe(true);
});

test('an id that is only part of a string or a number is not found', () => {
  expect(inBody('{"data":"fl-08123"}')).toBe(false);
  expect(inBody('{"data":9007199254740992}')).toBe(false);
  expect(inBody('{"data":"say \\"fl-0812\\""}')).toBe(false);
  expect(inBody('{"data":null}')).toBe(false);
});

test('an id is found in a key between separators', () => {
  for (const key of ['fl-0812', 'case:fl-0812', 'fl-0812/created', 'a_fl-0812_b']) {
    expect(inKey(key), key).toBe(true);
  }
  for (const key of ['fl-08123', 'xfl-0812', 'fl:0812']) expect(inKey(key), key).toBe(false);
});
