import { createHash } from 'node:crypto';

/** A schema of Avro 1.11, as the files of Iceberg need it, with the ids of fields of its specification. */
type AvroType =
  | 'boolean'
  | 'int'
  | 'long'
  | 'string'
  | 'bytes'
  | readonly ['null', AvroType]
  | { readonly type: 'array'; readonly items: AvroType; readonly [more: string]: unknown }
  | AvroRecord;

export type AvroRecord = {
  readonly type: 'record';
  readonly name: string;
  readonly fields: readonly AvroField[];
};

type AvroField = {
  readonly name: string;
  readonly type: AvroType;
  readonly default?: null;
  readonly 'field-id': number;
};

/** Makes a field that every row has. */
export function field(id: number, name: string, type: AvroType): AvroField {
  return { name, type, 'field-id': id };
}

/** Makes a field that may be null. */
export function optional(id: number, name: string, type: AvroType): AvroField {
  return { name, type: ['null', type], default: null, 'field-id': id };
}

/** Returns a container file of Avro, uncompressed: same rows, same bytes. Numbers are whole and below 2^52. */
export function encodeAvroFile(
  schema: AvroRecord,
  metadata: Readonly<Record<string, string>>,
  rows: readonly object[],
): Buffer {
  const entries = Object.entries({
    'avro.schema': JSON.stringify(schema),
    'avro.codec': 'null',
    ...metadata,
  });
  const marker = createHash('md5').update(JSON.stringify(entries)).digest();
  const header = entries.flatMap(([key, value]) => [text(key), text(value)]);
  const body: Buffer[] = [];
  for (const row of rows) encode(schema, row, body);
  const bytes = Buffer.concat(body);
  const block = rows.length === 0 ? [] : [long(rows.length), long(bytes.length), bytes, marker];
  return Buffer.concat([
    Buffer.from('Obj\u0001'),
    ...[long(entries.length), ...header, long(0), marker],
    ...block,
  ]);
}

function encode(type: AvroType, value: unknown, out: Buffer[]): void {
  if (isUnion(type)) {
    out.push(long(value === null || value === undefined ? 0 : 1));
    if (value !== null && value !== undefined) encode(type[1], value, out);
  } else if (type === 'boolean') out.push(Buffer.from([value === true ? 1 : 0]));
  else if (type === 'int' || type === 'long') out.push(long(value as number));
  else if (type === 'string') out.push(text(value as string));
  else if (type === 'bytes') out.push(withLength(value as Buffer));
  else if (type.type === 'array') {
    const items = value as readonly unknown[];
    if (items.length > 0) out.push(long(items.length));
    for (const item of items) encode(type.items, item, out);
    out.push(long(0));
  } else {
    const row = value as Readonly<Record<string, unknown>>;
    for (const { name, type: inner } of type.fields) encode(inner, row[name], out);
  }
}

function isUnion(type: AvroType): type is readonly ['null', AvroType] {
  return Array.isArray(type);
}

function text(value: string): Buffer {
  return withLength(Buffer.from(value));
}

function withLength(bytes: Buffer): Buffer {
  return Buffer.concat([long(bytes.length), bytes]);
}

/** Signs alternate (0, -1, 1, -2 …), and seven bits go into each byte, the lowest first. */
function long(value: number): Buffer {
  if (!Number.isSafeInteger(2 * value)) throw new RangeError(`${value} does not fit`);
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  const bytes: number[] = [];
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}
