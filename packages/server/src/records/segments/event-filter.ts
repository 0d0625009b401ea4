import { createHash } from 'node:crypto';
import sql, { join, raw, type Sql } from 'sql-template-tag';
import { literal } from '../../platform/duckdb.ts';
import { readSegments } from './segment-sql.ts';

// A Bloom filter of the event ids of a segment says that the segment does not hold an event, or that it may. The filter
// consists of blocks of 256 bytes. Of the last 64 bits of md5(event_id), the first 20 choose a block and the others four
// of its bits. So PostgreSQL reads one block of a filter, however long the filter is.

const blockBytes = 256;
const bitsOfBlock = 8 * blockBytes;
/** With so many, two of a thousand events that a segment does not hold look as if it did. */
const bitsOfRecord = 16;
const shareBits = 20;
/** How far the hash is shifted to the right for each of the bits. */
const shifts = [0, 11, 22, 33];

/** DuckDB's SQL that makes the filter of a file with so many records: base64 text in the column `filter`. */
export function eventFilterSql(path: string, count: number): string {
  const blocks = Math.max(1, Math.ceil((count * bitsOfRecord) / bitsOfBlock));
  const bits = shifts.map((shift) => `first_bit + ((hash >> ${shift}) & ${bitsOfBlock - 1})`);
  return `
    select to_base64(bitstring_agg(bit::bigint, 0, ${blocks * bitsOfBlock - 1})::blob) as filter
    from (
      select unnest([${bits.join(', ')}]) as bit from (
        select hash, ((hash >> ${64 - shareBits}) * ${blocks} >> ${shareBits}) * ${bitsOfBlock} as first_bit
        from (select md5_number_lower(event_id) as hash from ${readSegments([path])})))`;
}

/** DuckDB's SQL for the paths of those files that hold an event of which their given filter knows nothing. */
export function missesSql(files: readonly { path: string; filter: Buffer }[]): string {
  const given = files.map(
    ({ path, filter }) => `(${literal(path)}, ${literal(filter.toString('base64'))})`,
  );
  const areSet = shifts.map(
    (shift) =>
      `get_bit(bits, (first_bit + ((hash >> ${shift}) & ${bitsOfBlock - 1}))::integer) = 1`,
  );
  return `
    with given as materialized (
      select path, from_base64(filter)::bit as bits,
        octet_length(from_base64(filter)) // ${blockBytes} as blocks
      from (values ${given.join(', ')}) listed(path, filter)
    )
    select path from (
      select path, bits, hash,
        ((hash >> ${64 - shareBits}) * blocks::ubigint >> ${shareBits}) * ${bitsOfBlock} as first_bit
      from (
        select filename, md5_number_lower(event_id) as hash from ${readSegments(files.map(({ path }) => path))}
      ) held join given on path = filename
    ) group by path having not bool_and(${areSet.join(' and ')})`;
}

/** Whether a filter consists of whole blocks, as any that was made. */
export function isFilter(filter: Buffer): boolean {
  return filter.length > 0 && filter.length % blockBytes === 0;
}

/** PostgreSQL's condition for segments that may hold an event; of those without a filter nothing is known. */
export function mayHold(eventId: string): Sql {
  const { share, bits } = placeOf(eventId);
  return isSet({ share: sql`${share}::bigint`, bits: bits.map((bit) => sql`${bit}::integer`) });
}

/** The same for many: rows `asked`, numbered from 1, to be joined with segments by `tenant` and `id`. */
export function mayHoldEach(
  pairs: readonly {
    readonly tenant: string;
    readonly segmentId: string;
    readonly eventId: string;
  }[],
): { asked: Sql; mayHold: Sql } {
  const places = pairs.map(({ eventId }) => placeOf(eventId));
  const names = shifts.map((_, n) => `bit_${n}`);
  const bits = shifts.map((_, n) => sql`${places.map((place) => place.bits[n] ?? 0)}::integer[]`);
  return {
    asked: sql`unnest(${pairs.map(({ tenant }) => tenant)}::text[], ${pairs.map(({ segmentId }) => segmentId)}::text[],
      ${places.map(({ share }) => share)}::bigint[], ${join(bits)})
      with ordinality as asked(tenant, id, share, ${raw(names.join(', '))}, number)`,
    mayHold: isSet({ share: sql`asked.share`, bits: names.map((name) => raw(`asked.${name}`)) }),
  };
}

/** Which block of any filter an event belongs to, as a share of 2^20, and which bits of the block it sets. */
function placeOf(eventId: string): { share: number; bits: number[] } {
  const hash = createHash('md5').update(eventId).digest().readBigUInt64LE(8);
  return {
    share: Number(hash >> BigInt(64 - shareBits)),
    // DuckDB counts the bits of a byte from its left, PostgreSQL from its right.
    bits: shifts.map((shift) => Number((hash >> BigInt(shift)) & BigInt(bitsOfBlock - 1)) ^ 7),
  };
}

/** Most filters that do not know the event lack its first bit already, so that the block is seldom read again. */
function isSet({ share, bits }: { share: Sql; bits: readonly Sql[] }): Sql {
  const block = sql`substring(event_filter from (1 + ${blockBytes}
    * ((${share} * (octet_length(event_filter) / ${blockBytes})) >> ${shareBits}))::integer for ${blockBytes})`;
  const areSet = bits.map((bit) => sql`get_bit(${block}, ${bit}) = 1`);
  return sql`(event_filter is null or (${join(areSet, ' and ')}))`;
}
