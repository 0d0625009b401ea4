import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { from as copyFrom } from 'pg-copy-streams';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { CopyWriter } from './copy-binary.ts';

const db = useTestDatabase();

type Row = {
  name: string | null;
  size: number;
  digest: bigint;
  micros: number;
  document: string | null;
};

/** Copies the rows into a table, and returns them as the database holds them and how many pieces there were. */
async function roundTrip(rows: readonly Row[]): Promise<{ stored: Row[]; pieces: number }> {
  const writer = new CopyWriter();
  const pieces: Buffer[] = [];
  for (const { name, size, digest, micros, document } of rows) {
    writer.row(5);
    writer.text(name);
    writer.int4(size);
    writer.int8(digest);
    writer.instant(micros);
    writer.text(document);
    pieces.push(...writer.takeFull());
  }
  writer.end();
  pieces.push(...writer.takeFull());
  return db.transaction(async (connection) => {
    await connection.query(sql`
      create temporary table copied (place serial, name text, size integer, digest bigint, at timestamptz, document json)
      on commit drop`);
    const copy = connection.client.query(
      copyFrom('copy copied (name, size, digest, at, document) from stdin (format binary)'),
    );
    await pipeline(Readable.from(pieces), copy);
    const stored = await connection.query<Omit<Row, 'digest'> & { digest: string }>(sql`
      select name, size, digest::text as digest, (extract(epoch from at) * 1000000)::bigint as micros,
        document::text as document
      from copied order by place`);
    return {
      stored: stored.map((row) => ({ ...row, digest: BigInt(row.digest) })),
      pieces: pieces.length,
    };
  });
}

const text = fc
  .string({ unit: 'binary', maxLength: 30 })
  .filter((one) => one.isWellFormed() && !one.includes('\0'));
const row = fc.record({
  name: fc.option(text),
  size: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  digest: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  // From 1970 until the end of what a safe integer holds; PostgreSQL counts from 2000.
  micros: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  document: fc.option(fc.dictionary(text, text).map((one) => JSON.stringify(one))),
});

test('every value comes back as it was written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row), async (rows) => {
      expect((await roundTrip(rows)).stored).toEqual(rows);
    }),
    { numRuns: runs(50) },
  );
});

test('values of any length come back, whichever piece they fall into', async () => {
  const lengths = [0, 1, 87_000, 88_000, 131_072, 262_132, 262_144, 300_000, 1_000_000];
  const rows = lengths.flatMap((length): Row[] =>
    ['a', 'é', '\uffff', '😀'].map((character) => ({
      name: character.repeat(length / character.length),
      size: length,
      digest: -1n,
      micros: 946_684_800_000_000 - length,
      document: '{}',
    })),
  );
  const { stored, pieces } = await roundTrip(rows);
  // Hashes of the long texts, because a difference is printed whole.
  const brief = ({ name, ...rest }: Row) => ({ ...rest, name: hash('sha256', name ?? '') });
  expect(stored.map(brief)).toEqual(rows.map(brief));
  expect(pieces).toBeGreaterThan(10);
});

test('text that is no JSON is refused', async () => {
  const broken = { name: '', size: 0, digest: 0n, micros: 0, document: '{"a":' };
  await expect(roundTrip([broken])).rejects.toMatchObject({ code: 'request_invalid' });
});
