/**
 * Values of Thrift's compact protocol, as far as the footers of Parquet use it. They are read without a schema, so that
 * fields which are unknown here stay as they are.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
export type ThriftValue =
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'i8'; readonly value: number }
  /** i16, i32 and i64 differ only in their tags. */
  | { readonly type: 'i16' | 'i32' | 'i64'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: Buffer }
  | { readonly type: 'binary'; readonly value: Buffer }
  | { readonly type: 'list'; readonly of: number; readonly items: readonly ThriftValue[] }
  | ThriftStruct;

/** Fields by their ids, in the order in which they were read. */
export type ThriftStruct = { readonly type: 'struct'; readonly fields: Map<number, ThriftValue> };

const tags = {
  true: 1,
  false: 2,
  i8: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  struct: 12,
};

/** Reads a struct. Throws when the bytes are none, or contain what footers of Parquet do not have (sets, maps). */
export function readThrift(bytes: Buffer): ThriftStruct {
  return new ThriftReader(bytes).readStruct();
}

class ThriftReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  readStruct(): ThriftStruct {
    const fields = new Map<number, ThriftValue>();
    let id = 0;
    for (;;) {
      const head = this.#byte();
      if (head === 0) return { type: 'struct', fields };
      const delta = head >> 4;
      id = delta === 0 ? Number(this.#zigzag()) : id + delta;
      fields.set(id, this.#value(head & 15));
    }
  }

  #value(tag: number): ThriftValue {
    switch (tag) {
      case tags.true:
      case tags.false:
        return { type: 'bool', value: tag === tags.true };
      case tags.i8:
        return { type: 'i8', value: this.#byte() };
      case tags.i16:
        return { type: 'i16', value: this.#zigzag() };
      case tags.i32:
        return { type: 'i32', value: this.#zigzag() };
      case tags.i64:
        return { type: 'i64', value: this.#zigzag() };
      case tags.double:
        return { type: 'double', value: this.#take(8) };
      case tags.binary:
        return { type: 'binary', value: this.#take(Number(this.#varint())) };
      case tags.list:
        return this.#list();
      case tags.struct:
        return this.readStruct();
      default:
        throw new Error(`a Parquet footer has a field of the unknown type ${tag}`);
    }
  }

  #list(): ThriftValue {
    const head = this.#byte();
    const of = head & 15;
    const length = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    const items: ThriftValue[] = [];
    for (let i = 0; i < length; i++) {
      // In lists a bool is a byte of its own; in structs its value is part of the tag.
      const isBool = of === tags.true || of === tags.false;
      items.push(isBool ? { type: 'bool', value: this.#byte() === 1 } : this.#value(of));
    }
    return { type: 'list', of, items };
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new Error('a Parquet footer ends early');
    return byte;
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error('a Parquet footer ends early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  #zigzag(): bigint {
    const value = this.#varint();
    return (value >> 1n) ^ -(value & 1n);
  }
}

/** The bytes of a struct. What `readThrift` has read comes out with the same bytes. */
export function writeThrift(struct: ThriftStruct): Buffer {
  const bytes: number[] = [];
  writeStruct(bytes, struct);
  return Buffer.from(bytes);
}

function writeStruct(bytes: number[], { fields }: ThriftStruct): void {
  let before = 0;
  for (const [id, value] of fields) {
    const tag = tagOf(value);
    const delta = id - before;
    if (delta > 0 && delta < 16) bytes.push((delta << 4) | tag);
    else {
      bytes.push(tag);
      writeZigzag(bytes, BigInt(id));
    }
    if (value.type !== 'bool') writeValue(bytes, value);
    before = id;
  }
  bytes.push(0);
}

function tagOf(value: ThriftValue): number {
  return value.type === 'bool' ? tags[value.value ? 'true' : 'false'] : tags[value.type];
}

function writeValue(bytes: number[], value: ThriftValue): void {
  switch (value.type) {
    case 'bool':
      bytes.push(value.value ? 1 : 2);
      return;
    case 'i8':
      bytes.push(value.value);
      return;
    case 'i16':
    case 'i32':
    case 'i64':
      writeZigzag(bytes, value.value);
      return;
    case 'double':
      for (const byte of value.value) bytes.push(byte);
      return;
    case 'binary':
      writeVarint(bytes, BigInt(value.value.length));
      for (const byte of value.value) bytes.push(byte);
      return;
    case 'list': {
      const { of, items } = value;
      if (items.length < 15) bytes.push((items.length << 4) | of);
      else {
        bytes.push(0xf0 | of);
        writeVarint(bytes, BigInt(items.length));
      }
      for (const item of items) writeValue(bytes, item);
      return;
    }
    case 'struct':
      writeStruct(bytes, value);
  }
}

function writeZigzag(bytes: number[], value: bigint): void {
  writeVarint(bytes, BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)));
}

function writeVarint(bytes: number[], value: bigint): void {
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
}

/** Makes a struct. The ids of its fields must be in ascending order. */
export function struct(fields: Record<number, ThriftValue>): ThriftStruct {
  return {
    type: 'struct',
    fields: new Map(Object.entries(fields).map(([id, value]) => [Number(id), value])),
  };
}

export function list(of: 'i32' | 'binary' | 'struct', items: readonly ThriftValue[]): ThriftValue {
  return { type: 'list', of: tags[of], items };
}

export function i32(value: number): ThriftValue {
  return { type: 'i32', value: BigInt(value) };
}

export function i64(value: number | bigint): ThriftValue {
  return { type: 'i64', value: BigInt(value) };
}

export function text(value: string): ThriftValue {
  return { type: 'binary', value: Buffer.from(value) };
}
