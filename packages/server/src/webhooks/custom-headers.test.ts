import { expect, test } from 'vitest';
import { ringOf } from '../../test/keyring.ts';
import { changeHeaders, openHeaders, sealHeaders } from './custom-headers.ts';
import { createSecretBox } from './secret.ts';

const before = { Authorization: 'Bearer a', 'X-Key': 'k' };

test('a change sets headers, takes them away, and leaves the others, whatever their case', () => {
  expect(changeHeaders(before, { authorization: 'Bearer b', 'X-New': 'n' })).toEqual({
    authorization: 'Bearer b',
    'X-Key': 'k',
    'X-New': 'n',
  });
  expect(changeHeaders(before, { 'x-key': null, 'X-Nobody': null })).toEqual({
    Authorization: 'Bearer a',
  });
  expect(changeHeaders(before, null)).toEqual({});
});

test.each([
  ['Basic user:pässword', 'Basic dXNlcjpww6Rzc3dvcmQ='],
  ['basic user:a:b', 'Basic dXNlcjphOmI='],
  ['Basic dXNlcjphOmI=', 'Basic dXNlcjphOmI='],
  ['Digest a:b', 'Digest a:b'],
])('of Authorization, %j is sent as %j', (given, sent) => {
  expect(changeHeaders({}, { Authorization: given })).toEqual({ Authorization: sent });
  expect(changeHeaders({}, { 'X-Key': 'Basic a:b' })).toEqual({ 'X-Key': 'Basic a:b' });
});

test.each([
  ['Host', 'a'],
  ['content-type', 'text/plain'],
  ['Webhook-Id', 'msg_1'],
  ['User-Agent', 'curl'],
  ['proxy-authorization', 'Basic a'],
  ['a b', 'c'],
  ['', 'c'],
  ['X-A', ''],
  ['X-A', ' b'],
  ['X-A', 'a\r\nX-B: c'],
  ['X-A', 'ä'],
  ['X-A', 'a\u0000'],
  ['Authorization', 'Basic user:pass\n'],
  ['Authorization', 'Basic user:pass '],
  ['Authorization', ' Basic user:pass'],
  ['Authorization', 'Basic us\u0007er:pass'],
  ['Authorization', 'Basic user:\ud83d'],
])('refuses %j: %j', (name, value) => {
  expect(() => changeHeaders(before, { [name]: value })).toThrow(
    expect.objectContaining({
      code: 'request_invalid',
      errors: [expect.objectContaining({ path: `/headers/${name}` })],
    }),
  );
});

test('refuses a name twice, too many headers, and too many characters', () => {
  expect(() => changeHeaders({}, { 'X-A': 'a', 'x-a': 'b' })).toThrow();
  const many = (n: number) =>
    Object.fromEntries(Array.from({ length: n }, (_, i) => [`x-${i}`, 'v']));
  expect(Object.keys(changeHeaders({}, many(20)))).toHaveLength(20);
  expect(() => changeHeaders(many(20), { 'y-0': 'v' })).toThrow();
  expect(changeHeaders({}, { x: 'v'.repeat(8191) })).toHaveProperty('x');
  expect(() => changeHeaders({}, { x: 'v'.repeat(8192) })).toThrow();
});

test('they are sealed as a whole, and only their key opens them', () => {
  const box = createSecretBox(ringOf(1));
  const sealed = sealHeaders(box, 'ep_1', before);
  expect(sealed.header_names).toEqual(['Authorization', 'X-Key']);
  expect(sealed.headers?.toString('latin1')).not.toContain('Bearer');
  expect(openHeaders(box, 'ep_1', sealed.headers)).toEqual(before);
  expect(() => openHeaders(createSecretBox(ringOf(2)), 'ep_1', sealed.headers)).toThrow();
  expect(sealHeaders(box, 'ep_1', {})).toEqual({ header_names: [], headers: null });
});
