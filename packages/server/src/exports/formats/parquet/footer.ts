import { isOwnColumn } from '../../encode/rows.ts';
import { type FieldType, restColumn } from '../../values.ts';
import type { FileColumns } from '../format.ts';
import {
  i32,
  i64,
  list,
  readThrift,
  struct,
  type ThriftStruct,
  type ThriftValue,
  text,
  writeThrift,
} from './thrift.ts';

// The structs and their field ids are those of
// https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift

export const magic = Buffer.from('PAR1');

/** What the footer says of some row groups, with offsets that count from the first of them. */
export type RowGroups = {
  readonly rows: number;
  /** Each is a row group of the footer in Thrift's encoding, as base64. */
  readonly groups: readonly string[];
};

/** Row groups with the number of bytes that they describe, so that others can be placed after them. */
export type PlacedGroups = RowGroups & { readonly sizeBytes: number };

/** Field ids of the footer's structs. */
const file = { version: 1, schema: 2, rows: 3, groups: 4, createdBy: 6, orders: 7 };
const group = { columns: 1, rows: 3, offset: 5 };
const column = { offset: 2, meta: 3, offsetIndex: 4, columnIndex: 6 };
const meta = { dataPage: 9, indexPage: 10, dictionaryPage: 11, bloomFilter: 14 };

/** Reads the row groups out of a Parquet file's footer (without its length and magic), and checks its columns. */
export function readFooter(footer: Buffer, columns: FileColumns): RowGroups {
  const { fields } = readThrift(footer);
  const schema = fields.get(file.schema);
  if (schema === undefined || !isSame(schema, list('struct', schemaOf(columns)))) {
    throw new Error('the footer has other columns than were asked for');
  }
  const groups = structsOf(fields.get(file.groups));
  return {
    rows: groups.reduce((sum, { fields: own }) => sum + integerOf(own.get(group.rows)), 0),
    groups: groups.map((own) => toBase64(shift(own, -magic.length))),
  };
}

/** Joins several stretches of row groups into one: the offsets of each stretch grow by the size of those before it. */
export function joinGroups(stretches: readonly PlacedGroups[]): PlacedGroups {
  let sizeBytes = 0;
  let rows = 0;
  const groups: string[] = [];
  for (const stretch of stretches) {
    for (const one of stretch.groups) groups.push(toBase64(shift(fromBase64(one), sizeBytes)));
    sizeBytes += stretch.sizeBytes;
    rows += stretch.rows;
  }
  return { rows, groups, sizeBytes };
}

/** Takes row groups apart into stretches of these sizes in bytes. Throws when one lies in none of them. */
export function splitGroups({ groups }: RowGroups, sizes: readonly number[]): RowGroups[] {
  let end = 0;
  const stretches = sizes.map((size) => {
    const start = end;
    end += size;
    return { start, end, rows: 0, groups: [] as string[] };
  });
  for (const one of groups) {
    const own = fromBase64(one);
    const at = offsetOf(own);
    const stretch = stretches.find(({ start, end }) => at >= start && at < end);
    if (stretch === undefined) throw new Error(`the footer has a row group at byte ${at}`);
    stretch.rows += integerOf(own.fields.get(group.rows));
    stretch.groups.push(toBase64(shift(own, -stretch.start)));
  }
  return stretches.map(({ rows, groups }) => ({ rows, groups }));
}

/** Where the first page of a row group lies. */
function offsetOf(own: ThriftStruct): number {
  const offsets = structsOf(own.fields.get(group.columns)).flatMap(({ fields }) => {
    const metadata = fields.get(column.meta);
    if (metadata?.type !== 'struct') return [];
    const pages = [metadata.fields.get(meta.dictionaryPage), metadata.fields.get(meta.dataPage)];
    return pages.filter((page) => page !== undefined).map(integerOf);
  });
  return Math.min(...offsets);
}

/** The end of a file whose row groups begin right after its first `PAR1`: footer, length, magic. */
export function writeFooter({ rows, groups }: RowGroups, columns: FileColumns): Buffer {
  const schema = schemaOf(columns);
  const footer = writeThrift(
    struct({
      [file.version]: i32(1),
      [file.schema]: list('struct', schema),
      [file.rows]: i64(rows),
      [file.groups]: list(
        'struct',
        groups.map((one) => shift(fromBase64(one), magic.length)),
      ),
      [file.createdBy]: text('svcctl'),
      // This says that values compare as their types say. Without it readers do not trust the least and greatest
      // values.
      [file.orders]: list(
        'struct',
        schema.filter(isLeaf).map(() => struct({ 1: struct({}) })),
      ),
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([footer, length, magic]);
}

const physical = { boolean: 0, int32: 1, int64: 2, double: 5, bytes: 6, fixedBytes: 7 };
const [optional, repeated] = [1, 2];
const converted = { utf8: 0, list: 3, decimal: 5, timestampMicros: 10, int32: 17, int64: 18 };

/** A column of a file. Its type is that of a field, or one that only columns of ours have. */
export type ParquetColumn = { readonly name: string; readonly type: ParquetType };
type ParquetType = FieldType | 'integer' | 'instant';

/** The columns of a file. Field paths are text. */
export function parquetColumns({ columns, fields }: FileColumns): ParquetColumn[] {
  return columns.flatMap((name): ParquetColumn[] => {
    if (fields === undefined || name !== 'enrichment') {
      return [{ name, type: ownType(name, fields !== undefined) }];
    }
    return [...fields, { name: restColumn, type: 'string' }];
  });
}

function ownType(name: string, isTyped: boolean): ParquetType {
  if (!isOwnColumn(name)) return 'string';
  if (name === 'bytes') return 'integer';
  if (name === 'confidence' && isTyped) return 'double';
  return name === 'occurred_at' || name === 'recorded_at' ? 'instant' : 'string';
}

/** The schema, in the way DuckDB writes it, since its footers are compared with this. */
function schemaOf(columns: FileColumns): ThriftStruct[] {
  const own = parquetColumns(columns);
  const root = struct({ 3: i32(0), 4: text('duckdb_schema'), 5: i32(own.length) });
  return [root, ...own.flatMap(({ name, type }) => elementsOf(name, type))];
}

function isLeaf({ fields }: ThriftStruct): boolean {
  return fields.has(1);
}

/** The schema elements of a column: one for itself, and those of its members or its list. */
function elementsOf(name: string, type: ParquetType): ThriftStruct[] {
  if (typeof type === 'string') return [struct(scalarElement(name, type))];
  if ('decimal' in type) {
    const scale = { 7: i32(type.decimal), 8: i32(38) };
    const bytes = { 1: i32(physical.fixedBytes), 2: i32(16), 3: i32(optional), 4: text(name) };
    return [struct({ ...bytes, 6: i32(converted.decimal), ...scale, 10: decimalType(type) })];
  }
  if ('list' in type) {
    const own = struct({ 3: i32(optional), 4: text(name), 5: i32(1), 6: i32(converted.list) });
    const items = struct({ 3: i32(repeated), 4: text('list'), 5: i32(1) });
    return [own, items, ...elementsOf('element', type.list)];
  }
  const own = struct({ 3: i32(optional), 4: text(name), 5: i32(type.struct.length) });
  return [own, ...type.struct.flatMap((member) => elementsOf(member.name, member.type))];
}

function decimalType({ decimal }: { decimal: number }): ThriftStruct {
  return struct({ 5: struct({ 1: i32(decimal), 2: i32(38) }) });
}

function scalarElement(
  name: string,
  type: Extract<ParquetType, string>,
): Record<number, ThriftValue> {
  const of = (physicalType: number, convertedType?: number) => ({
    1: i32(physicalType),
    3: i32(optional),
    4: text(name),
    ...(convertedType === undefined ? {} : { 6: i32(convertedType) }),
  });
  switch (type) {
    case 'string':
      return of(physical.bytes, converted.utf8);
    case 'boolean':
      return of(physical.boolean);
    case 'double':
      return of(physical.double);
    case 'bigint':
      return of(physical.int64, converted.int64);
    case 'integer':
      return of(physical.int32, converted.int32);
    case 'instant': {
      const micros = struct({ 2: struct({}) });
      const timestamp = struct({ 1: { type: 'bool', value: true }, 2: micros });
      return { ...of(physical.int64, converted.timestampMicros), 10: struct({ 8: timestamp }) };
    }
  }
}

/** A row group whose bytes lie `by` bytes further behind. All offsets in it change, none else. */
function shift(own: ThriftStruct, by: number): ThriftStruct {
  const fields = shiftFields(own, [group.offset], by);
  const columns = structsOf(fields.get(group.columns)).map((one) => shiftColumn(one, by));
  fields.set(group.columns, list('struct', columns));
  return { type: 'struct', fields };
}

function shiftColumn(own: ThriftStruct, by: number): ThriftStruct {
  const fields = shiftFields(own, [column.offsetIndex, column.columnIndex], by);
  // This field is deprecated, and 0 where the writer does not use it.
  const offset = fields.get(column.offset);
  if (offset?.type === 'i64' && offset.value !== 0n) {
    fields.set(column.offset, i64(offset.value + BigInt(by)));
  }
  const metadata = fields.get(column.meta);
  if (metadata?.type !== 'struct')
    throw new Error('a Parquet footer has a column without metadata');
  const shifted = shiftFields(metadata, Object.values(meta), by);
  fields.set(column.meta, { type: 'struct', fields: shifted });
  return { type: 'struct', fields };
}

function shiftFields(
  { fields }: ThriftStruct,
  ids: readonly number[],
  by: number,
): Map<number, ThriftValue> {
  const shifted = new Map(fields);
  for (const id of ids) {
    const value = fields.get(id);
    if (value?.type === 'i64') shifted.set(id, i64(value.value + BigInt(by)));
  }
  return shifted;
}

function structsOf(value: ThriftValue | undefined): ThriftStruct[] {
  if (value?.type !== 'list') return [];
  return value.items.filter((item) => item.type === 'struct');
}

function integerOf(value: ThriftValue | undefined): number {
  return value?.type === 'i64' ? Number(value.value) : 0;
}

function isSame(a: ThriftValue, b: ThriftValue): boolean {
  const bytes = (value: ThriftValue) => writeThrift(struct({ 1: value }));
  return bytes(a).equals(bytes(b));
}

function toBase64(own: ThriftStruct): string {
  return writeThrift(own).toString('base64');
}

function fromBase64(own: string): ThriftStruct {
  return readThrift(Buffer.from(own, 'base64'));
}
