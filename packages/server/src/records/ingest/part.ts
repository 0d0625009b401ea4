import { signedDigest } from '../../kernel/digest.ts';
import { formatMicros } from '../../kernel/instant.ts';
import type { IncomingRecord } from './record-reader.ts';

/** Records that will be stored in one transaction, encoded as rows of the stage table. */
export class Part {
  readonly #rows: string[] = [];
  /** For each row, the position of its record in the request. */
  readonly indexes: number[] = [];
  /** The months that occur, as `YYYY-MM`. */
  readonly months = new Set<string>();
  readonly tenants = new Set<string>();
  #length = 0;
  readonly #scratch = Buffer.alloc(8);

  get count(): number {
    return this.#rows.length;
  }

  /** Roughly the bytes that the part takes in memory. */
  get sizeBytes(): number {
    return this.#length;
  }

  add(index: number, record: IncomingRecord): void {
    const occurredAt = formatMicros(record.occurredAtMicros);
    const row = encodeRow(this.#rows.length, record, occurredAt, this.#scratch);
    this.#rows.push(row);
    this.indexes.push(index);
    this.months.add(occurredAt.slice(0, 7));
    this.tenants.add(record.tenant);
    this.#length += row.length;
  }

  /** Yields the text for `COPY … FROM STDIN`, in pieces of about a quarter of a megabyte. */
  *copyText(): Generator<Buffer> {
    for (let start = 0; start < this.#rows.length; ) {
      let end = start;
      for (let size = 0; end < this.#rows.length && size < pieceLength; end += 1) {
        size += this.#rows[end]?.length ?? 0;
      }
      yield Buffer.from(this.#rows.slice(start, end).join(''));
      start = end;
    }
  }
}

const pieceLength = 256 * 1024;

/** Returns one row in the text format of COPY. The columns are those of `createStage` in queries.ts. */
function encodeRow(
  ordinal: number,
  record: IncomingRecord,
  occurredAt: string,
  scratch: Buffer,
): string {
  const { tenant, store, eventId, kind, source, model, confidence, enrichment } = record;
  return `${ordinal}\t${escaped(tenant)}\t${escaped(store)}\t${occurredAt}\t${escaped(eventId)}\t${optional(kind)}\t${optional(source)}\t${optional(model)}\t${confidence ?? '\\N'}\t${record.bytes}\t${signedDigest(record, scratch)}\t${escaped(enrichment)}\n`;
}

function optional(value: string | null): string {
  return value === null ? '\\N' : escaped(value);
}

const special = /[\\\t\n\r]/;
const specials = /[\\\t\n\r]/g;
const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Escapes a value for COPY: https://www.postgresql.org/docs/current/sql-copy.html, "Text Format". */
function escaped(value: string): string {
  if (!special.test(value)) return value;
  return value.replace(specials, (character) => escapes[character] ?? character);
}
