import { expect, test } from 'vitest';
import { hashSecret, isAccessToken, newAccessToken, newId } from './ids.ts';

test('a new token passes its own checksum and no two are equal', () => {
  const tokens = Array.from({ length: 200 }, newAccessToken);
  expect(tokens.every(isAccessToken)).toBe(true);
  expect(new Set(tokens).size).toBe(200);
  expect(tokens[0]).toMatch(/^svc_[0-9A-Za-z]{46}$/);
});

test('a typo anywhere in a token is noticed', () => {
  const token = newAccessToken();
  for (let at = 0; at < token.length; at++) {
    const typo = token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1);
    expect(isAccessToken(typo)).toBe(false);
  }
  expect(isAccessToken(token.slice(1))).toBe(false);
  expect(isAccessToken(`${token} `)).toBe(false);
});

test('the hash does not show the token', () => {
  const token = newAccessToken();
  expect(hashSecret(token)).toHaveLength(32);
  expect(hashSecret(token).toString('latin1')).not.toContain(token.slice(4, 10));
});

test('ids carry their prefix', () => {
  expect(newId('tok')).toMatch(/^tok_[0-9A-Za-z]{16}$/);
});
