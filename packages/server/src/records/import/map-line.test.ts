import { expect, test } from 'vitest';
import { createLineMapper } from './map-line.ts';
import type { Mapping } from './mapping.ts';

const nothing: Mapping = { columns: {}, values: {}, skipped: [], timeUnit: undefined };
const mapped = (line: string, mapping: Partial<Mapping> = {}) =>
  createLineMapper({ ...nothing, ...mapping })(line);

test('members are fields by their names, and all others are the enrichment', () => {
  expect(
    mapped('{"tenant":"T", "n": 1.10, "event_id": 7, "deep": {"x": [1, 2]}, "recorded_at": 1}'),
  ).toBe('{"tenant":"T","event_id":"7","enrichment":{"n":1.10,"deep":{"x":[1,2]}}}');
});

test('members are mapped, set and left out', () => {
  const mapping = { columns: { occurred_at: 'ts' }, values: { tenant: 'T"1' }, skipped: ['junk'] };
  expect(mapped('{"ts":"2024-01-01 00:00:00","junk":{},"occurred_at":3}', mapping)).toBe(
    '{"tenant":"T\\"1","occurred_at":"2024-01-01T00:00:00Z","enrichment":{"occurred_at":3}}',
  );
});

test('a whole enrichment has others beside it, so that the service names them', () => {
  expect(mapped('{"enrichment":{"a":1},"b":2,"month":"2024-01","bytes":7}')).toBe(
    '{"enrichment":{"a":1},"b":2}',
  );
  expect(mapped('{"payload":"{\\"a\\": 1}"}', { columns: { enrichment: 'payload' } })).toBe(
    '{"enrichment":{"a":1}}',
  );
});

test('what is there twice stays so, and is refused by the service', () => {
  expect(mapped('{"store":"a","store":"b","k":1,"k":2}')).toBe(
    '{"store":"a","store":"b","enrichment":{"k":1,"k":2}}',
  );
});

test.each(['', '[1]', '{"a":1', '{"a":1} x', '{"a" 1}', '{"a":nan}', '{,}'])(
  'a line that is no object stays as it is: %s',
  (line) => {
    expect(mapped(line)).toBe(line);
  },
);
