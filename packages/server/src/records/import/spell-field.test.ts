import { expect, test } from 'vitest';
import type { RecordField } from '../values.ts';
import { createSpelling, type TimeUnit } from './spell-field.ts';

const spelled = (field: RecordField, json: string, unit?: TimeUnit) =>
  createSpelling(unit)(field, json);

test.each([
  ['"2024-03-05T14:07:09.123456Z"', '"2024-03-05T14:07:09.123456Z"'],
  ['"2024-03-05 14:07:09"', '"2024-03-05T14:07:09Z"'],
  ['"2024-03-05T14:07:09.5"', '"2024-03-05T14:07:09.5Z"'],
  ['"2024-03-05 14:07:09.5+01"', '"2024-03-05T14:07:09.5+01:00"'],
  ['"2024-03-05 14:07:09-0130"', '"2024-03-05T14:07:09-01:30"'],
  ['"2024-03-05 14:07:09-01:30"', '"2024-03-05T14:07:09-01:30"'],
  // These the service refuses, and says why.
  ['"2024-03-05"', '"2024-03-05"'],
  ['"05.03.2024 14:07"', '"05.03.2024 14:07"'],
  ['1709647629', '1709647629'],
  ['{}', '{}'],
])('the time %s becomes %s', (json, time) => {
  expect(spelled('occurred_at', json)).toBe(time);
});

test.each([
  ['1709647629', 's', '"2024-03-05T14:07:09.000000Z"'],
  ['1709647629.1234560', 's', '"2024-03-05T14:07:09.123456Z"'],
  ['1709647629.1234567', 's', '1709647629.1234567'],
  ['1709647629123', 'ms', '"2024-03-05T14:07:09.123000Z"'],
  ['1709647629123456', 'us', '"2024-03-05T14:07:09.123456Z"'],
  ['1709647629123456000', 'ns', '"2024-03-05T14:07:09.123456Z"'],
  ['1709647629123456001', 'ns', '1709647629123456001'],
  ['0', 's', '"1970-01-01T00:00:00.000000Z"'],
  ['-1', 's', '-1'],
  ['9999999999999999999', 's', '9999999999999999999'],
  ['1e9', 's', '1e9'],
] as const)('%s in %s becomes %s', (json, unit, time) => {
  expect(spelled('occurred_at', json, unit)).toBe(time);
});

test.each([
  ['tenant', '12', '"12"'],
  ['event_id', '9007199254740993', '"9007199254740993"'],
  ['kind', 'true', '"true"'],
  ['kind', 'null', 'null'],
  ['event_id', '[1]', '[1]'],
  ['event_id', 'nan', 'nan'],
  ['confidence', '"0.10"', '0.10'],
  ['confidence', '"1e-3"', '1e-3'],
  ['confidence', '" 1"', '" 1"'],
  ['confidence', '"01"', '"01"'],
  ['confidence', '0.5', '0.5'],
] as const)('the %s %s becomes %s', (field, json, text) => {
  expect(spelled(field, json)).toBe(text);
});

test.each([
  ['{ "a" : 1.10,\n "b":[ ] }\n', '{"a":1.10,"b":[]}'],
  ['{"a":1,"a":2}', '{"a":1,"a":2}'],
  ['[1]', '[1]'],
  ['{"a":"é\\u0001😀"}', '{"a":"é\\u0001😀"}'],
])('text that is JSON is put in as such: %s', (text, json) => {
  expect(spelled('enrichment', JSON.stringify(text))).toBe(json);
});

// Otherwise a cell could bring fields of its own.
test.each(['{},"tenant":"other"', '{}}', '{"a":1', '', 'x', '{"a":nan}', '{}{}'])(
  'text that is not one JSON value stays text: %s',
  (text) => {
    expect(spelled('enrichment', JSON.stringify(text))).toBe(JSON.stringify(text));
  },
);
