import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareText } from '../../kernel/names.ts';
import { Part } from './part.ts';
import type { IncomingRecord } from './record-reader.ts';

const name = fc.constantFrom('a', 'b', 'ab', 'é', '\uffff', '😀', 'a😀', 'a\uffff');
const records = fc.array(
  fc.record({
    tenant: name,
    store: name,
    eventId: name,
    occurredAtMicros: fc.constantFrom(0, 1, 2, 40 * 86_400_000_000, 80 * 86_400_000_000 + 1),
  }),
  { maxLength: 60 },
);

function partOf(keys: readonly Partial<IncomingRecord>[]): Part {
  const part = new Part();
  for (const [index, key] of keys.entries()) {
    const labels = { kind: null, source: null, model: null, confidence: null };
    part.add(index, { ...labels, enrichment: '{}', bytes: 9, ...key } as IncomingRecord);
  }
  return part;
}

const monthOf = ({ occurredAtMicros }: { occurredAtMicros: number }) =>
  new Date(occurredAtMicros / 1000).getUTCMonth();

test('rows are ordered by month and then by their keys as the database orders them, equal keys as they came', () => {
  fc.assert(
    fc.property(records, (keys) => {
      const part = partOf(keys);
      const expected = keys
        .map((key, ordinal) => ({ ...key, ordinal }))
        .sort(
          (a, b) =>
            monthOf(a) - monthOf(b) ||
            compareText(a.tenant, b.tenant) ||
            compareText(a.store, b.store) ||
            a.occurredAtMicros - b.occurredAtMicros ||
            compareText(a.eventId, b.eventId) ||
            a.ordinal - b.ordinal,
        );
      expect(part.inStoreOrder()).toEqual(expected.map(({ ordinal }) => ordinal));
    }),
  );
});

test('joined parts hold the rows of all, in their order', () => {
  fc.assert(
    fc.property(records, records, (one, other) => {
      const joined = Part.join([partOf(one), partOf(other)]);
      const whole = partOf([...one, ...other]);
      expect(joined.rows.map(({ record }) => record)).toEqual(
        whole.rows.map(({ record }) => record),
      );
      expect(joined.inStoreOrder()).toEqual(whole.inStoreOrder());
      expect([joined.sizeBytes, joined.tenants()]).toEqual([whole.sizeBytes, whole.tenants()]);
    }),
  );
});
