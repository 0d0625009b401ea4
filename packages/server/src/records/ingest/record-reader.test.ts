import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { formatMicros } from '../../kernel/instant.ts';
import { readLine } from './batch-reader.ts';
import type { IncomingRecord } from './record-reader.ts';

const nowMicros = Date.UTC(2026, 0, 31) * 1000;
const limits = { nowMicros, maxEnrichmentBytes: 262_144 };

const valid = {
  tenant: 'TX',
  store: 'DFW',
  event_id: 'fl-0000001',
  occurred_at: '2001-03-01T00:05:00Z',
  enrichment: { delay: 14 },
};

const line = (changes: Record<string, unknown>) => JSON.stringify({ ...valid, ...changes });
const codeOf = (text: string) => readLine(text, limits).fault?.code ?? 'accepted';
const recordOf = (text: string): IncomingRecord => {
  const { record, fault } = readLine(text, limits);
  if (record === null) throw new Error(fault.message);
  return record;
};

test('a record is read field by field', () => {
  const text =
    '{"tenant":"TX","store":"DFW","event_id":"fl-1","occurred_at":"2001-03-01T00:05:00.5+01:00",' +
    '"kind":"departure","source":"LAX","model":"","confidence":0.10,"enrichment":{ "n" : 1.0 }}';
  expect(readLine(text, limits)).toEqual({
    record: {
      tenant: 'TX',
      store: 'DFW',
      eventId: 'fl-1',
      occurredAtMicros: Date.UTC(2001, 1, 28, 23, 5) * 1000 + 500_000,
      kind: 'departure',
      source: 'LAX',
      model: '',
      confidence: '0.10',
      enrichment: '{"n":1.0}',
      bytes: text.length - 4 + '2001-02-28T23:05:00.500000Z'.length - 27,
    },
    fault: null,
    end: text.length,
  });
});

test('fields come in any order and any spelling', () => {
  const text = String.raw`{"enrichment":{},"event_id":"\u0061\n\/".."store":"s","occurred_at":"2001\u002d03-01T00:05:00Z","\u0074enant":"t"}`;
  expect(codeOf(text)).toBe('json_invalid');
  expect(codeOf(text.replace('..', ','))).toBe('field_invalid');
  expect(recordOf(text.replace('..', ',').replace(String.raw`\n\/`, ''))).toMatchObject({
    tenant: 't',
    eventId: 'a',
    occurredAtMicros: Date.UTC(2001, 2, 1, 0, 5) * 1000,
  });
});

test('null and absence of an optional field are the same, the empty string is not', () => {
  for (const field of ['kind', 'source', 'model'] as const) {
    expect(recordOf(line({ [field]: null }))[field]).toBeNull();
    expect(recordOf(line({}))[field]).toBeNull();
    expect(recordOf(line({ [field]: '' }))[field]).toBe('');
  }
  expect(recordOf(line({ confidence: null })).confidence).toBeNull();
  expect(recordOf(line({ kind: null, confidence: null })).bytes).toBe(recordOf(line({})).bytes);
});

test.each(['null', '1', '"x"', '[]', 'true', '[{"a":1,"a":2}]'])('%s is no record', (text) => {
  expect(codeOf(text)).toBe('record_invalid');
});

test.each(['tenant', 'store', 'event_id', 'occurred_at', 'enrichment'])(
  '%s is required',
  (field) => {
    const absent = readLine(line({ [field]: undefined }), limits).fault;
    const tenant = field === 'tenant' ? '' : 'TX';
    const message = `${field} is missing`;
    expect(absent).toEqual({ code: 'field_required', message, field, tenant });
    const fault = readLine(line({ [field]: null }), limits).fault;
    expect(fault).toMatchObject({ code: 'field_invalid', field, tenant });
    expect(fault?.message).toMatch(new RegExp(`^${field} must be`));
  },
);

test.each(['recorded_at', 'bytes', 'Tenant', 'tenants', 'kinds', 'xxxxx', '', '__proto__', 'é'])(
  'the field %j is unknown',
  (field) => {
    const text = line({}).replace(/}$/, `,${JSON.stringify(field)}:{"a":[1]}}`);
    expect(readLine(text, limits).fault).toEqual({
      code: 'field_unknown',
      message: `${JSON.stringify(field)} is not a field of a record`,
      field: null,
      tenant: 'TX',
    });
  },
);

test('a fault names its field, and its tenant unless that is none', () => {
  const faultOf = (more: Record<string, unknown>) => readLine(line(more), limits).fault;
  expect(faultOf({ tenant: 'a/b' })).toMatchObject({ field: 'tenant', tenant: '' });
  expect(faultOf({ kind: 'x\u0001' })).toMatchObject({ field: 'kind', tenant: 'TX' });
  expect(faultOf({ occurred_at: 'noon' })).toMatchObject({ field: 'occurred_at', tenant: 'TX' });
  expect(faultOf({ confidence: 2 })).toMatchObject({ field: 'confidence', tenant: 'TX' });
  const twice = line({}).replace('{"delay":14}', '{"a":1,"a":2}');
  expect(readLine(twice, limits).fault).toMatchObject({ field: 'enrichment', tenant: 'TX' });
  expect(readLine('{"tenant":"TX",', limits).fault).toMatchObject({ field: null, tenant: 'TX' });
});

test('a field may come only once', () => {
  for (const again of ['"kind":null', '"\\u006bind":"x"']) {
    const text = line({ kind: 'a' }).replace(/}$/, `,${again}}`);
    expect(readLine(text, limits).fault?.code).toBe('json_duplicate_key');
    expect(readLine(text, limits).fault?.message).toContain('kind');
  }
});

test.each([
  ['tenant', 'a'.repeat(128), 'a'.repeat(129)],
  ['store', '😀'.repeat(128), '😀'.repeat(129)],
  ['tenant', 'é', ''],
  ['tenant', 'a\\b', 'a/b'],
  ['store', '"', '/'],
  ['store', '\u00a0', '\u009f'],
  ['tenant', ' ', '\u007f'],
  ['tenant', '\\u0001', '\u0001'],
  ['tenant', '\u2028', 'é\u0080'],
  ['tenant', '**', '*'],
  ['store', ' .', '.'],
  ['tenant', '...', '..'],
  ['event_id', 'a/b', 'a\nb'],
  ['event_id', '😀'.repeat(200), `${'😀'.repeat(200)}x`],
  ['event_id', '~', '\u001f'],
  ['event_id', 'x', 1],
  ['kind', '😀'.repeat(200), 'x'.repeat(201)],
  ['source', '\u0002\u0080', '\u0001'],
  ['model', '\u001e', 'a\u001f'],
  ['model', 'x', ['x']],
  ['occurred_at', '1970-01-01T00:00:00Z', '1969-12-31T23:59:59.999999Z'],
  ['occurred_at', '1970-01-01T00:00:00+00:00', '1970-01-01T00:00:00+00:01'],
  ['occurred_at', '2026-02-01T00:00:00.000000Z', '2026-02-01T00:00:00.000001Z'],
  ['occurred_at', '2001-03-01T00:05:00.123456Z', '2001-03-01T00:05:00.1234567Z'],
  ['occurred_at', '2000-02-29T00:00:00Z', '2001-02-29T00:00:00Z'],
  ['occurred_at', '2016-12-31T23:59:59Z', '2016-12-31T23:59:60Z'],
  ['occurred_at', '2001-03-01T00:05:00Z', 983_404_800],
  ['enrichment', {}, []],
  ['enrichment', { a: null }, '{}'],
  ['confidence', 0, '0.5'],
  ['confidence', 1, 1.1],
  ['confidence', 0.5, -0.1],
  ['confidence', null, false],
])('%s may be %j and not %j', (field, good, bad) => {
  expect(codeOf(line({ [field]: good }))).toBe('accepted');
  const { fault } = readLine(line({ [field]: bad }), limits);
  expect(fault?.code).toBe('field_invalid');
  expect(fault?.message.startsWith(`${field} must be`)).toBe(true);
});

const withConfidence = (spelled: string) =>
  line({ kind: 1 }).replace('"kind":1', `"confidence":${spelled}`);

test.each([
  ['2001-03-01', 'a day without a time'],
  ['2001-03-01 00:05:00Z', 'it has a space in place of T'],
  ['2001-03-01 00:05', 'it lacks its seconds'],
  ['2001-03-01T00:05+01:00', 'it lacks its seconds'],
  ['2001-03-01T00:05:00+01', 'its offset lacks the colon or the minutes'],
  ['2001-03-01T00:05:00+0100', 'its offset lacks the colon or the minutes'],
  ['983405100', 'it is a number of seconds or the like'],
  ['2001-03-01T00:05:00', 'lacks its zone'],
  ['2001-03-01T00:05:00.1234567Z', 'more than 6 fraction digits'],
  ['2001-02-29T00:00:00Z', 'no such day'],
  ['0001-01-01T00:00:00Z', 'its year is too far from now'],
  ['9999-12-31T23:59:59Z', 'its year is too far from now'],
  ['1998-12-31T23:59:60Z', 'it is a leap second'],
  ['1969-12-31T23:59:59Z', 'from 1970 until one day from now'],
  ['2026-02-02T00:00:00Z', 'one day from now, which is 2026-02-01T00:00:00.000000Z'],
  [`2001-${'x'.repeat(500)}`, 'not written so'],
])('of the time %j it is told what is wrong with it', (text, words) => {
  const { fault } = readLine(line({ occurred_at: text }), limits);
  expect(fault?.message).toContain(words);
  expect(fault?.message.length).toBeLessThan(200);
});

test.each([
  ...['0', '-0', '-0.00e5', '0.10', '1.000', '1e0', '10e-1', '0.01E+2', '1e-400'],
  ...['0.99999999999999999999999999', `0.${'5'.repeat(38)}`],
])('the confidence %s is kept to the letter', (spelled) => {
  expect(recordOf(withConfidence(spelled)).confidence).toBe(spelled);
});

test.each([
  ...['1.00000000000000000000000001', '10.00000000000000000001e-1', '2', '1e400', '-1e-400'],
  ...['-0.0001', `0.${'5'.repeat(39)}`],
])('the confidence %s is refused', (spelled) => {
  expect(codeOf(withConfidence(spelled))).toBe('field_invalid');
});

test.each(['01', '.5', '1.', '-', '+1', '0.5x'])('the confidence %s is not JSON', (spelled) => {
  expect(readLine(withConfidence(spelled), limits)).toMatchObject({
    fault: { code: 'json_invalid' },
    end: -1,
  });
});

test('the limit of the enrichment counts UTF-8 bytes without white space', () => {
  const maxEnrichmentBytes = Buffer.byteLength('{"a":"éé"}');
  const read = (enrichment: string) =>
    readLine(line({}).replace('{"delay":14}', enrichment), { nowMicros, maxEnrichmentBytes }).fault;
  expect(read('{ "a" : "éé" } ')).toBeNull();
  expect(read('{"a":"ééx"}')).toEqual({
    code: 'enrichment_too_large',
    message: 'enrichment has 13 bytes; at most 12 are allowed',
    field: 'enrichment',
    tenant: 'TX',
  });
});

test.each([
  ['json_null_character', '"\\u0000"'],
  ['json_lone_surrogate', '"\\ud83d"'],
])('%s is told for any string of a record', (code, string) => {
  for (const field of ['tenant', 'event_id', 'occurred_at', 'kind']) {
    const text = line({ [field]: 1 }).replace(`"${field}":1`, `"${field}":${string}`);
    expect(readLine(text, limits).fault?.code).toBe(code);
    expect(readLine(text, limits).fault?.message).toMatch(
      new RegExp(`^${field}: .*\\(byte \\d+ of`),
    );
  }
  for (const enrichment of [`{"a":${string}}`, `{"a":[{${string}:1}]}`]) {
    expect(codeOf(line({}).replace('{"delay":14}', enrichment))).toBe(code);
  }
  expect(codeOf(line({}).replace('"tenant"', string))).toBe(code);
});

test('duplicate keys and depth are faults of the enrichment', () => {
  const read = (enrichment: string) => codeOf(line({}).replace('{"delay":14}', enrichment));
  expect(read('{"a":{"b":1,"b":1}}')).toBe('json_duplicate_key');
  expect(read(`{"a":${'['.repeat(99)}${']'.repeat(99)}}`)).toBe('accepted');
  expect(read(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`)).toBe('json_too_deep');
});

test('of several faults the first is told', () => {
  expect(codeOf('{"x":1,"tenant":2,"store":"a/b"}')).toBe('field_unknown');
  expect(codeOf('{"tenant":2,"x":1,"tenant":3}')).toBe('field_invalid');
  expect(codeOf('{"enrichment":{"a":1,"a":2},"x":1}')).toBe('json_duplicate_key');
  expect(codeOf('{"tenant":2,"x":1')).toBe('json_invalid');
});

const nameArbitrary = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom(...'"\\aé東😀 '),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    ),
    minLength: 1,
    maxLength: 20,
  })
  .filter((name) => !/[\p{Cc}/]/u.test(name) && !['*', '.', '..'].includes(name));
const labelArbitrary = fc
  .string({ unit: 'binary', maxLength: 20 })
  .filter((label) => ['\0', '\u0001', '\u001f'].every((char) => !label.includes(char)));

test('a record keeps its content, and bytes is the length of its NDJSON line', () => {
  const recordArbitrary = fc.record(
    {
      tenant: nameArbitrary,
      store: nameArbitrary,
      event_id: nameArbitrary,
      micros: fc.integer({ min: 0, max: nowMicros }),
      kind: labelArbitrary,
      source: labelArbitrary,
      model: labelArbitrary,
      confidence: fc.double({ min: 0, max: 1, noNaN: true }),
      enrichment: fc.dictionary(
        fc.string({ unit: 'grapheme' }),
        fc.jsonValue({ stringUnit: 'grapheme' }),
      ),
    },
    { requiredKeys: ['tenant', 'store', 'event_id', 'micros', 'enrichment'] },
  );
  const property = fc.property(recordArbitrary, fc.nat(3), ({ micros, ...sent }, indent) => {
    const { tenant, store, event_id, enrichment, ...optional } = sent;
    const occurred_at = formatMicros(micros);
    const text = JSON.stringify({ ...sent, occurred_at }, null, indent);
    const { kind, source, model, confidence } = optional;
    const labels = { kind, source, model, confidence };
    const canonical = JSON.stringify({
      tenant,
      store,
      event_id,
      occurred_at,
      ...labels,
      enrichment,
    });
    expect(recordOf(text)).toEqual({
      tenant,
      store,
      eventId: event_id,
      occurredAtMicros: micros,
      kind: kind ?? null,
      source: source ?? null,
      model: model ?? null,
      confidence: confidence === undefined ? null : JSON.stringify(confidence),
      enrichment: JSON.stringify(enrichment),
      bytes: Buffer.byteLength(canonical),
    });
  });
  fc.assert(property, { numRuns: runs(1000) });
});
