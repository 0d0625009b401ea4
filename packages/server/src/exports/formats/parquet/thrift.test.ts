import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinGroups, readFooter, writeFooter } from './footer.ts';
import {
  i32,
  i64,
  list,
  readThrift,
  struct,
  type ThriftStruct,
  text,
  writeThrift,
} from './thrift.ts';

const int = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const bytes = fc.uint8Array({ maxLength: 200 }).map((own) => Buffer.from(own));
const { value: anyStruct } = fc.letrec((tie) => ({
  value: fc
    .dictionary(fc.integer({ min: 1, max: 400 }).map(String), tie('field'), { maxKeys: 6 })
    .map((fields) => struct(fields as Record<number, ThriftStruct>)),
  field: fc.oneof(
    { depthSize: 'small' },
    int.map((value) => ({ type: 'i64', value })),
    fc.integer().map(i32),
    fc
      .integer({ min: -32_768, max: 32_767 })
      .map((value) => ({ type: 'i16', value: BigInt(value) })),
    fc.boolean().map((value) => ({ type: 'bool', value })),
    bytes.map((value) => ({ type: 'binary', value })),
    fc.array(fc.string().map(text), { maxLength: 40 }).map((items) => list('binary', items)),
    fc
      .array(tie('value'), { maxLength: 4 })
      .map((items) => list('struct', items as ThriftStruct[])),
    tie('value'),
  ),
}));

test('any struct is read as it was written', () => {
  fc.assert(
    fc.property(anyStruct, (own) => {
      const written = writeThrift(own);
      expect(readThrift(written)).toEqual(own);
      expect(writeThrift(readThrift(written)).equals(written)).toBe(true);
    }),
  );
});

test('a struct that was cut is an error, not less of it', () => {
  const written = writeThrift(
    struct({ 1: i64(5), 4: list('i32', [i32(1), i32(300)]), 30: text('end') }),
  );
  for (let length = 0; length < written.length; length++) {
    expect(() => readThrift(written.subarray(0, length))).toThrow('ends early');
  }
});

const columns = ['event_id', 'bytes', 'occurred_at'];

/** A row group of one column, whose pages stand at these offsets of a file. */
function footerOf(offset: number, dictionary: number | null): Buffer {
  const meta = struct({
    1: i32(6),
    5: i64(3),
    7: i64(99),
    9: i64(offset),
    ...(dictionary === null ? {} : { 11: i64(dictionary), 14: i64(offset + 50), 15: i32(32) }),
  });
  const column = struct({ 2: i64(0), 3: meta, 4: i64(offset + 60), 6: i64(offset + 70) });
  const group = struct({ 1: list('struct', [column]), 2: i64(1), 3: i64(3), 5: i64(offset) });
  const empty = readThrift(footerBytes(writeFooter({ rows: 0, groups: [] }, { columns })));
  return writeThrift({
    type: 'struct',
    fields: new Map([...empty.fields, [4, list('struct', [group])]]),
  });
}

function footerBytes(tail: Buffer): Buffer {
  const length = tail.readUInt32LE(tail.length - 8);
  return tail.subarray(tail.length - 8 - length, tail.length - 8);
}

test('what stands behind other row groups is found there', () => {
  const [first, second] = [footerOf(4, null), footerOf(40, 4)].map((own) =>
    readFooter(own, { columns }),
  );
  if (first === undefined || second === undefined) throw new Error('there are two');
  const joined = joinGroups([
    { ...first, sizeBytes: 1_000 },
    { ...second, sizeBytes: 500 },
  ]);
  expect([joined.rows, joined.sizeBytes]).toEqual([6, 1_500]);
  const tail = writeFooter(joined, { columns });
  const groups = readThrift(footerBytes(tail)).fields.get(4);
  expect(groups).toEqual(
    list('struct', [groupOf(footerOf(4, null)), groupOf(footerOf(1_040, 1_004))]),
  );
});

function groupOf(footer: Buffer): ThriftStruct {
  const groups = readThrift(footer).fields.get(4);
  const [group] = groups?.type === 'list' ? groups.items : [];
  if (group?.type !== 'struct') throw new Error('there is no row group');
  return group;
}

test('a file with other columns is refused', () => {
  expect(() => readFooter(footerOf(4, null), { columns: ['event_id'] })).toThrow('other columns');
  expect(() =>
    readFooter(footerOf(4, null), { columns: ['event_id', 'kind', 'occurred_at'] }),
  ).toThrow('other columns');
});
