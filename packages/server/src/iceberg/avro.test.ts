import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AvroRecord, encodeAvroFile, field, optional } from './avro.ts';
import { readAvro } from './testing/read-avro.ts';

const schema: AvroRecord = {
  type: 'record',
  name: 'row',
  fields: [
    field(1, 'number', 'long'),
    optional(2, 'name', 'string'),
    field(3, 'isTrue', 'boolean'),
    optional(4, 'bytes', 'bytes'),
    field(5, 'list', { type: 'array', items: 'int' }),
  ],
};

test('a reader gets back what was written, by the schema in the file', () => {
  const row = fc.record({
    number: fc.integer({ min: -(2 ** 51), max: 2 ** 51 }),
    name: fc.option(fc.string({ unit: 'binary' })),
    isTrue: fc.boolean(),
    bytes: fc.option(fc.uint8Array()),
    list: fc.array(fc.integer({ min: -200, max: 200 })),
  });
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      const given = rows.map((one) => ({ ...one, bytes: one.bytes && Buffer.from(one.bytes) }));
      const read = readAvro(encodeAvroFile(schema, { more: 'é' }, given));
      expect(read.metadata).toMatchObject({ more: 'é', 'avro.codec': 'null' });
      expect(read.schema).toEqual(schema);
      const expected = rows.map((one) => ({
        ...one,
        number: BigInt(one.number),
        bytes: one.bytes && Buffer.from(one.bytes).toString('hex'),
        list: one.list.map(BigInt),
      }));
      expect(read.rows).toEqual(expected);
    }),
  );
});

test('the bytes of a number are those of the specification', () => {
  const bytesOf = (number: number) => {
    const only: AvroRecord = { type: 'record', name: 'row', fields: [field(1, 'n', 'long')] };
    const file = encodeAvroFile(only, {}, [{ n: number }]);
    return file.subarray(-18, -16).toString('hex');
  };
  expect([0, -1, 1, -2, 2, -64].map((n) => bytesOf(n).slice(-2))).toEqual([
    '00',
    '01',
    '02',
    '03',
    '04',
    '7f',
  ]);
  expect(bytesOf(64)).toBe('8001');
});

test('a number that would lose digits is refused', () => {
  const row = { number: 2 ** 53, name: null, isTrue: true, bytes: null, list: [] };
  expect(() => encodeAvroFile(schema, {}, [row])).toThrow(RangeError);
});
