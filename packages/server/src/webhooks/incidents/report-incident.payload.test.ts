import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type IncidentReport, requestDigest } from './report-digest.ts';
import { payloadText } from './report-incident.ts';

const report: IncidentReport = { tenant: 'T', type: 'incident.created', data: {} };
const digest = (data: unknown) => requestDigest({ ...report, data }).toString('hex');

test.each<[string, Partial<IncidentReport>]>([
  ['another tenant', { tenant: 'U' }],
  ['a store', { store: 'S' }],
  ['another type', { type: 'incident.updated' }],
  ['a time', { occurred_at: '2026-03-05T14:07:09Z' }],
  ['other data', { data: [] }],
])('a report with %s has another digest', (_name, change) => {
  expect(requestDigest({ ...report, ...change }).equals(requestDigest(report))).toBe(false);
});

test('data that differs has another digest', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, two) => {
      // As JSON has them, where -0 is 0; the order of keys is none of its business either.
      const isSame = isDeepStrictEqual(asJson(one), asJson(two));
      expect(digest(one) === digest(two)).toBe(isSame);
    }),
  );
  expect(digest([1, 2])).not.toBe(digest([2, 1]));
  expect(digest([])).not.toBe(digest({}));
  expect(digest('1')).not.toBe(digest(1));
  expect(digest(JSON.parse('{"__proto__":1}'))).not.toBe(digest({}));
});

test.each([
  ['{"n":9007199254740993}', '{"n":9007199254740992}'],
  ['0.1000000000000000000001', '0.1'],
  ['[1e400]', '[1e500]'],
  ['1.0', '1'],
  ['-0', '0'],
  ['{"a":1,"a":2}', '{"a":2,"a":1}'],
  ['{"a":1,"a":2}', '{"a":2}'],
  ['[[],[]]', '[[[]]]'],
])('%s has another digest than %s', (one, two) => {
  const of = (source: string) => requestDigest({ ...report, data: JSON.parse(source) }, source);
  expect(of(one).equals(of(two))).toBe(false);
});

test('another spelling of the same text or order of the same keys has the same digest', () => {
  const of = (source: string) => requestDigest(report, source).toString('hex');
  expect(of('{"b":[1,{"y":"A\\"","x":1e2}],"a":{}}')).toBe(
    of('{"a":{},"b":[1,{"x":1e2,"y":"\\u0041\\u0022"}]}'),
  );
});

test('the order of keys does not matter, at any depth', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (data) => {
      expect(digest(turned(data))).toBe(digest(data));
    }),
  );
});

test('any text has a digest, half a surrogate pair too', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, two) => {
      expect(digest({ [one]: two })).toMatch(/^02[0-9a-f]{64}$/);
    }),
  );
  expect(digest('\ud800')).not.toBe(digest('\ufffd'));
});

test('refuses data that is nested deeper than 500 levels', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  const payload = (data: unknown) => ({ type: 'a.b', timestamp: 't', data });
  expect(() => payloadText(payload(nested(501)), 10_000)).toThrow('500 levels');
  expect(() => payloadText(payload(nested(100_000)), 10_000)).toThrow('500 levels');
  expect(payloadText(payload(nested(500)), 10_000)).toContain('[]');
});

test.each([
  ['a repeated key', '{"a":1,"a":2}', 'only once'],
  ['U+0000', '"\\u0000"', 'U+0000'],
])('refuses %s at any depth, and beside what is deep', (_name, odd, message) => {
  const nested = (inner: string) => '['.repeat(499) + inner + ']'.repeat(499);
  for (const source of [nested(odd), `[${nested('')},${odd}]`]) {
    const payload = { type: 'a.b', timestamp: 't', data: JSON.parse(source) };
    expect(() => payloadText(payload, 10_000, source)).toThrow(message);
  }
});

test('a payload may have as many bytes as are allowed, in UTF-8', () => {
  const payload = { type: 'a.b', timestamp: 't', data: 'ä' };
  const sizeBytes = Buffer.byteLength(JSON.stringify(payload));
  expect(() => payloadText(payload, sizeBytes - 1)).toThrow('body_too_large');
  expect(payloadText(payload, sizeBytes)).toBe('{"type":"a.b","timestamp":"t","data":"ä"}');
});

test('a payload is plain ASCII or UTF-8 without U+0000, and reads as what was sent', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (data) => {
      const text = payloadText({ type: 'a.b', timestamp: 't', data }, 1_000_000);
      expect(text).not.toContain('\0');
      expect(Buffer.from(text).toString()).toBe(text);
      expect(JSON.stringify(JSON.parse(text).data)).toBe(JSON.stringify(data));
    }),
  );
});

/** The same value with the keys of every object in reverse. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  );
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
