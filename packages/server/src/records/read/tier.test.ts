import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareText } from '../../kernel/names.ts';
import { keyOf, type RecordRow } from '../queries.ts';
import { compareKeys, mergeTiers, type Scan, type Tier } from './tier.ts';

const compareRows = (a: RecordRow, b: RecordRow) => compareKeys(keyOf(a), keyOf(b));

function row(store: string, event_id: string, bytes = 100): RecordRow {
  const at = '2001-01-01T00:00:00.000000Z';
  const labels = { kind: null, source: null, model: null, confidence: null };
  const key = { tenant: 'TX', store, event_id, occurred_at: at };
  return { ...key, recorded_at: at, ...labels, bytes, enrichment: '{}' };
}

/** A tier over rows in memory that stops after `step` of them, whatever was asked for. */
function tierOf(rows: RecordRow[], step: number): Tier {
  return {
    async scan(_slice, { after, descending, limit, isInclusive, until = null }): Promise<Scan> {
      const sign = descending ? -1 : 1;
      const ordered = [...rows].sort((a, b) => sign * compareRows(a, b));
      const beyond = ordered.filter((one) => {
        const place = after === null ? 1 : sign * compareKeys(keyOf(one), after);
        const isAsked = until === null || sign * compareKeys(keyOf(one), until) <= 0;
        return isAsked && (place > 0 || (place === 0 && isInclusive === true));
      });
      const some = beyond.slice(0, Math.min(limit, step));
      const last = some.at(-1);
      const isCut = last !== undefined && some.length < beyond.length;
      return {
        rows: some,
        end: isCut || some.length === limit ? keyOf(last ?? row('', '')) : null,
      };
    },
    find: async (key) => rows.find((one) => compareKeys(keyOf(one), key) === 0),
  };
}

const slice = { tenants: null };
const name = fc.constantFrom('a', 'B', 'é', '\u{E000}', '\u{1F600}', '\u{1F601}x');
const rowsOf = fc
  .uniqueArray(fc.tuple(name, name), { selector: (key) => key.join('/'), maxLength: 30 })
  .map((keys) => keys.map(([store, id]) => row(store, id)));

test('text compares as its UTF-8 bytes do', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', 'é', '\u{D7FF}', '\u{E000}', '\u{FFFD}', '\u{1F600}') }),
  );
  fc.assert(
    fc.property(text, text, (a, b) => {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareText(a, b))).toBe(expected);
    }),
  );
});

test('a walk over two tiers shows each record once and in order, however they share them', async () => {
  const share = fc.constantFrom('hot', 'cold', 'both');
  await fc.assert(
    fc.asyncProperty(
      rowsOf,
      fc.array(share, { minLength: 30, maxLength: 30 }),
      fc.record({
        limit: fc.integer({ min: 1, max: 8 }),
        steps: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
        descending: fc.boolean(),
        isFiltered: fc.boolean(),
      }),
      async (rows, shares, { limit, steps, descending, isFiltered }) => {
        const without = (other: string) => rows.filter((_, n) => shares[n] !== other);
        const both = mergeTiers(
          tierOf(without('cold'), steps[0]),
          tierOf(without('hot'), steps[1]),
        );
        const asked = isFiltered ? { ...slice, kind: 'any' } : slice;
        const seen: RecordRow[] = [];
        let after: Scan['end'] = null;
        do {
          const scan: Scan = await both.scan(asked, { after, descending, limit });
          expect(scan.rows.length).toBeLessThanOrEqual(limit);
          seen.push(...scan.rows);
          after = scan.end;
        } while (after !== null);
        const sorted = [...rows].sort(compareRows);
        expect(seen).toEqual(descending ? sorted.reverse() : sorted);
      },
    ),
  );
});

test('a page is full though each scan of a tier stops early, but not for ever', async () => {
  const rows = Array.from({ length: 40 }, (_, n) => row('S', String(n).padStart(3, '0')));
  const both = mergeTiers(tierOf([], 1), tierOf(rows, 2));
  const scan = (limit: number) => both.scan(slice, { after: null, descending: false, limit });
  expect((await scan(10)).rows).toHaveLength(10);
  const short = await scan(40);
  expect(short.rows).toHaveLength(16);
  expect(short.end?.[3]).toBe('015');
});

test('a page ends where both tiers together reach 8 MiB', async () => {
  const large = (n: number) => row('S', String(n), 3 * 2 ** 20);
  const both = mergeTiers(
    tierOf([large(1), large(3), large(5)], 9),
    tierOf([large(2), large(4)], 9),
  );
  const scan = await both.scan(slice, { after: null, descending: false, limit: 9 });
  expect(scan.rows.map(({ event_id }) => event_id)).toEqual(['1', '2', '3']);
  expect(scan.end?.[3]).toBe('3');
});

test('a record is looked for in hot first', async () => {
  const [inHot, inCold] = [row('S', '1', 1), row('S', '1', 2)];
  const find = (hot: RecordRow[], cold: RecordRow[]) =>
    mergeTiers(tierOf(hot, 1), tierOf(cold, 1)).find(keyOf(inHot));
  expect(await find([inHot], [inCold])).toBe(inHot);
  expect(await find([], [inCold])).toBe(inCold);
  expect(await find([], [])).toBeUndefined();
});
