// Reads files of Avro by nothing but the schema that stands in them, as other programs do.

type Schema = {
  readonly type: unknown;
  readonly fields?: readonly { readonly name: string; readonly type: unknown }[];
  readonly items?: unknown;
};

// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of every shape
type AvroFile = { schema: any; metadata: Record<string, string>; rows: any[] };

/** Returns all that an object container file holds; numbers as bigint, bytes as hexadecimal text. */
export function readAvro(bytes: Buffer): AvroFile {
  let at = 4;
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const long = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (let byte = 128; byte >= 128; shift += 7n) {
      byte = take(1)[0] ?? 0;
      value |= BigInt(byte % 128) << shift;
    }
    return value % 2n === 0n ? value / 2n : -(value + 1n) / 2n;
  };
  const blob = () => take(Number(long()));
  const read = (type: unknown): unknown => {
    if (Array.isArray(type)) return read(type[Number(long())]);
    if (typeof type === 'object') return readNamed(type as Schema);
    if (type === 'null') return null;
    if (type === 'boolean') return take(1)[0] === 1;
    if (type === 'int' || type === 'long') return long();
    if (type === 'string') return blob().toString();
    if (type === 'bytes') return blob().toString('hex');
    throw new Error(`an unknown type ${JSON.stringify(type)}`);
  };
  const readNamed = ({ type, fields = [], items }: Schema): unknown => {
    if (type === 'record')
      return Object.fromEntries(fields.map(({ name, type: inner }) => [name, read(inner)]));
    const list: unknown[] = [];
    for (let left = long(); left !== 0n; left = long())
      for (; left > 0n; left -= 1n) list.push(read(items));
    return list;
  };
  if (bytes.subarray(0, 4).toString('latin1') !== 'Obj\u0001') throw new Error('this is no Avro');
  const metadata: Record<string, string> = {};
  for (let left = long(); left !== 0n; left = long())
    for (; left > 0n; left -= 1n) {
      const key = blob().toString();
      metadata[key] = blob().toString();
    }
  const marker = take(16);
  const schema = JSON.parse(metadata['avro.schema'] ?? '');
  const rows: unknown[] = [];
  while (at < bytes.length) {
    const count = long();
    const end = Number(long()) + at;
    for (let n = 0n; n < count; n += 1n) rows.push(read(schema));
    if (at !== end || !take(16).equals(marker)) throw new Error('a block does not end as it says');
  }
  return { schema, metadata, rows };
}
