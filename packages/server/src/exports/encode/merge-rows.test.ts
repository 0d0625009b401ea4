import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { dialects } from './csv-cells.ts';
import { mergeRows } from './merge-rows.ts';

const text = fc.string({ unit: fc.constantFrom(...'ab"!,\n\r #\u0003é\u{E000}\u{1F600}') });
const keys = fc.uniqueArray(
  text.map((own) => `k${own}`),
  { maxLength: 30 },
);
const cuts = fc.array(fc.nat({ max: 40 }), { maxLength: 30 });

/** Rows in the order of their keys' bytes, in pieces. */
function* piecesOf(
  rows: readonly { key: string; cell: string }[],
  at: readonly number[],
  kind: Kind,
) {
  const sorted = [...rows].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  const bytes = Buffer.from(sorted.map(({ key, cell }) => row([key, cell], kind)).join(''));
  let start = 0;
  for (const length of at) {
    yield bytes.subarray(start, start + length);
    start += length;
  }
  yield bytes.subarray(start);
}

type Kind = 'csv' | 'cells';

function row(cells: readonly string[], kind: Kind): string {
  const { encode } = kind === 'csv' ? dialects.machine : dialects.cells;
  return `${cells.map((cell) => encode({ text: cell, isText: true })).join(',')}\n`;
}

test.each(['csv', 'cells'] as const)(
  'merges any rows of %s by the bytes of their keys, wherever the pieces are cut',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(
        keys,
        fc.infiniteStream(text),
        cuts,
        cuts,
        async (all, cells, left, right) => {
          const rows = all.map((key) => ({ key, cell: cells.next().value, side: key.length % 3 }));
          let count = 0;
          const onRows = (number: number) => {
            count = number;
          };
          const sideOf = (other: number, at: readonly number[]) =>
            stream(
              piecesOf(
                rows.filter(({ side }) => side !== other),
                at,
                kind,
              ),
            );
          const merged = mergeRows(sideOf(1, left), sideOf(0, right), { kind, onRows });
          const pieces: Buffer[] = [];
          for await (const piece of merged) pieces.push(piece);
          const sorted = rows.sort((a, b) =>
            Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)),
          );
          expect(Buffer.concat(pieces).toString()).toBe(
            sorted.map(({ cell }) => row([cell], kind)).join(''),
          );
          expect(count).toBe(rows.length);
        },
      ),
      { numRuns: runs(400) },
    );
  },
);

test('a side that ends within a row is an error', async () => {
  const merged = mergeRows(stream([Buffer.from('"k1","a')]), stream([]), {
    kind: 'csv',
    onRows: () => {},
  });
  await expect(merged.next()).rejects.toThrow('not whole');
});

test('both sides are let go of when the reader leaves early, or one of them fails', async () => {
  const left: string[] = [];
  const rows = Buffer.from(`"k1","${'a'.repeat(300_000)}"\n"k2","b"\n`);
  const watched = async function* (name: string, isFailing: boolean) {
    try {
      yield rows;
      if (isFailing) throw new Error('it failed');
      yield rows;
    } finally {
      left.push(name);
    }
  };
  const options = { kind: 'csv', onRows: () => {} } as const;
  for await (const _ of mergeRows(watched('a', false), watched('b', false), options)) break;
  expect(left.splice(0)).toEqual(['a', 'b']);
  const failing = async () => {
    for await (const _ of mergeRows(watched('a', false), watched('b', true), options));
  };
  await expect(failing()).rejects.toThrow('it failed');
  expect(left.sort()).toEqual(['a', 'b']);
});

async function* stream(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces;
}
