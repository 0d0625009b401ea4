import { type Actor, isOfStores, mayTouchStore } from '../../kernel/actor.ts';
import { signedDigest } from '../../kernel/digest.ts';
import { formatMicros } from '../../kernel/instant.ts';
import { compareText, hiddenNameRule } from '../../kernel/names.ts';
import { Rejections } from '../../platform/http/line-answers.ts';
import { CopyWriter } from '../../platform/postgres/copy-binary.ts';
import type { IngestAnswer, rejectCodes } from '../contract.ts';
import type { Findings } from './findings.ts';
import type { IncomingRecord, RecordFault, RecordReading } from './record-reader.ts';

/** A record of a part, with what is computed of it once. */
export type PartRow = {
  readonly record: IncomingRecord;
  /** The position of the record in its request. */
  readonly index: number;
  readonly occurredAt: string;
  /** The digest as a signed number of 64 bits. */
  readonly digest: bigint;
};

type Leaf = {
  readonly month: string;
  readonly tenant: string;
  readonly store: string;
  readonly ordinals: number[];
};

/** Records that will be stored in one transaction. A row is named by its ordinal, its position in the part. */
export class Part {
  readonly rows: PartRow[] = [];
  /** The ordinals of each leaf, in the order in which they came. */
  readonly #leaves = new Map<string, Leaf>();
  #sizeBytes = 0;
  readonly #scratch = Buffer.alloc(8);

  /** Returns a part with the rows of all these parts, one part after the other. */
  static join(parts: Iterable<Part>): Part {
    const joined = new Part();
    for (const part of parts) for (const row of part.rows) joined.#push(row);
    return joined;
  }

  get count(): number {
    return this.rows.length;
  }

  /** Roughly the bytes that the part takes in memory. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  add(index: number, record: IncomingRecord): void {
    const occurredAt = formatMicros(record.occurredAtMicros);
    this.#push({ record, index, occurredAt, digest: signedDigest(record, this.#scratch) });
  }

  #push(row: PartRow): void {
    const { tenant, store, bytes } = row.record;
    const month = row.occurredAt.slice(0, 7);
    // The key is unique, because names hold no "/".
    const key = `${month}/${tenant}/${store}`;
    const leaf = this.#leaves.get(key);
    if (leaf === undefined) {
      this.#leaves.set(key, { month, tenant, store, ordinals: [this.rows.length] });
    } else leaf.ordinals.push(this.rows.length);
    this.rows.push(row);
    this.#sizeBytes += bytes;
  }

  /** Returns a part with these rows alone. */
  pick(ordinals: readonly number[]): Part {
    const picked = new Part();
    for (const ordinal of ordinals) picked.#push(this.rows[ordinal] as PartRow);
    return picked;
  }

  /** Returns the leaves, by months, that fit. */
  leavesThat(fits: (leaf: Leaf) => boolean): Leaf[] {
    return [...this.#leaves.values()].filter(fits);
  }

  tenants(): string[] {
    return [...new Set(Array.from(this.#leaves.values(), ({ tenant }) => tenant))];
  }

  /** Returns the months that occur, as `YYYY-MM`. */
  months(): Set<string> {
    return new Set(Array.from(this.#leaves.values(), ({ month }) => month));
  }

  /** Returns whether a record falls on one of these days. */
  touches(days: readonly { tenant: string; store: string; day: string }[]): boolean {
    const keys = new Set(days.map(({ tenant, store, day }) => `${tenant}/${store}/${day}`));
    return this.rows.some(({ record: { tenant, store }, occurredAt }) =>
      keys.has(`${tenant}/${store}/${occurredAt.slice(0, 10)}`),
    );
  }

  /**
   * Returns the ordinals in the order in which all writers store records: month by month, because COPY writes partition
   * by partition, and within a month by their keys, as the database sorts them. Rows of one key stay as they came.
   */
  inStoreOrder(): number[] {
    const { rows } = this;
    const leaves = [...this.#leaves.values()].sort(
      (a, b) =>
        compareText(a.month, b.month) ||
        compareText(a.tenant, b.tenant) ||
        compareText(a.store, b.store),
    );
    return leaves.flatMap(({ ordinals }) =>
      ordinals.toSorted((x, y) => {
        const [a, b] = [(rows[x] as PartRow).record, (rows[y] as PartRow).record];
        return (
          a.occurredAtMicros - b.occurredAtMicros || compareText(a.eventId, b.eventId) || x - y
        );
      }),
    );
  }

  /** Yields these rows in the binary format of COPY, in the order of its columns in queries.ts. */
  *copyRows(ordinals: readonly number[], recordedAtMicros: number): Generator<Buffer> {
    const writer = new CopyWriter();
    for (const ordinal of ordinals) {
      const { record, digest } = this.rows[ordinal] as PartRow;
      writer.row(columnCount);
      writer.text(record.tenant);
      writer.text(record.store);
      writer.instant(record.occurredAtMicros);
      writer.text(record.eventId);
      writer.text(record.kind);
      writer.text(record.source);
      writer.text(record.model);
      writer.text(record.confidence);
      writer.int4(record.bytes);
      writer.int8(digest);
      writer.text(record.enrichment);
      writer.instant(recordedAtMicros);
      yield* writer.takeFull();
    }
    writer.end();
    yield* writer.takeFull();
  }
}

const columnCount = 12;

/** What became of the rows of a part. All others are stored now. */
export type PartOutcome = {
  /** The ordinals of rows that were stored before. */
  readonly duplicates: readonly number[];
  /** The ordinals of rows whose identity is stored with other content. */
  readonly conflicts: readonly number[];
  /** The ordinals of rows of new tenants or stores whose names hold what cannot be seen. */
  readonly hidden?: readonly number[];
};

/** Why a record is not stored. */
type Rejection = Pick<RecordFault, 'message'> &
  Partial<Omit<RecordFault, 'code'>> & { code: keyof typeof rejectCodes };

/** What became of the records of a request. */
export class Tally {
  #actor: Actor;
  #accepted = 0;
  #duplicates = 0;
  readonly #rejections = new Rejections();
  readonly #findings: Findings | undefined;

  /** With `findings`, which a dry run has, what is wrong with the records is noted there as well. */
  constructor(actor: Actor, findings?: Findings) {
    this.#actor = actor;
    this.#findings = findings;
  }

  /** Puts a record into the part or rejects it. Returns it if it could be read, even if its place is refused. */
  take(part: Part, index: number, { record, fault }: RecordReading): IncomingRecord | null {
    if (fault !== null) this.reject(index, fault);
    else if (mayTouchStore(this.#actor, record.tenant, record.store)) {
      part.add(index, record);
      this.#findings?.lint(index, record);
    } else {
      const place = isOfStores(this.#actor.tenants) ? 'store' : 'tenant';
      const message = `this token may not write records of this ${place}`;
      this.reject(index, { code: 'tenant_not_allowed', message, tenant: record.tenant });
    }
    return record;
  }

  /** Takes the records of a part once more, by what their actor was found to reach now. */
  takeAgain(part: Part, actor: Actor): Part {
    this.#actor = actor;
    const again = new Part();
    for (const { index, record } of part.rows)
      this.take(again, index, { record, fault: null, end: 0 });
    return again;
  }

  reject(index: number, { code, message, field = null, tenant = '' }: Rejection): void {
    this.#findings?.add({
      index,
      severity: 'error',
      code,
      message,
      tenant: tenant || null,
      path: field === null ? '' : `/${field}`,
    });
    this.#rejections.add({ index, code, message });
  }

  add(part: Part, { duplicates, conflicts, hidden = [] }: PartOutcome): void {
    this.#accepted += part.count - duplicates.length - conflicts.length - hidden.length;
    this.#duplicates += duplicates.length;
    const rejectRows = (ordinals: readonly number[], rejection: Rejection) => {
      for (const ordinal of ordinals) {
        const row = part.rows[ordinal];
        this.reject(row?.index ?? -1, { ...rejection, tenant: row?.record.tenant ?? '' });
      }
    };
    rejectRows(conflicts, {
      code: 'conflict',
      message: 'a record with this identity is stored with other content',
    });
    rejectRows(hidden, { code: 'field_invalid', message: `tenant or store: ${hiddenNameRule}` });
  }

  answer(): IngestAnswer {
    return {
      accepted: this.#accepted,
      duplicates: this.#duplicates,
      rejected: this.#rejections.first(),
      rejected_count: this.#rejections.count,
    };
  }
}
