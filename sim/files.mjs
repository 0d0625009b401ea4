import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { recordDigest } from '../packages/server/dist/kernel/digest.js';
import { linesOf, rowOfLine } from './rows.mjs';
import { microsOf } from './values.mjs';

/**
 * The forms in which records leave, each read as whoever receives the file would. `ask` is what an export is asked for
 * beside its slice, `isAll` whether each record has a row, and `rows` reads a file row by row: the key of each, and the
 * digest of what it says; or, where it does not say all of a record to the letter, whether it is of a content.
 *
 * @type {Record<string, { format: 'csv' | 'ndjson' | 'parquet', ask?: object, isAll: boolean,
 *   rows: (file: { path: string, compression?: string }) => AsyncIterable<any> }>}
 */
export const forms = {
  csv: { format: 'csv', isAll: true, rows: (file) => rowsOfCsv(file) },
  ndjson: { format: 'ndjson', isAll: true, rows: (file) => rowsOfNdjson(file) },
  parquet: { format: 'parquet', isAll: true, rows: (file) => rowsOfParquet(file) },
  typed: {
    format: 'parquet',
    ask: { typed: true },
    isAll: true,
    rows: (file) => rowsOfTyped(file),
  },
  template: {
    format: 'ndjson',
    // A record without a kind has no line.
    ask: {
      template: {
        of: '{{tenant}}',
        at: ['{{store}}', '{{occurred_at}}', '{{event_id}}'],
        text: 'saw {{marker}} of {{n|json}}',
        x: '{{x|json}}',
        kind: '{{kind}}',
      },
      missing: 'skip',
    },
    isAll: false,
    rows: (file) => rowsOfTemplate(file),
  },
};

/**
 * Reads files of one export, and answers its records and their digest. Tells the world of each row that is no record as
 * somebody has sent it, and of each record that comes twice. `onRecord` is told the content of each.
 */
export async function readFiles(world, { form, files, what, onRecord = (_content) => {} }) {
  const seen = new Set();
  let digest = 0n;
  for (const file of files) {
    for await (const row of forms[form].rows(file)) {
      const content = contentOf(world.records, row);
      if (content === undefined) {
        world.say(`${what} has ${row.key}, which nobody has sent so: ${row.text ?? row.digest}`);
        continue;
      }
      if (seen.has(content)) world.say(`${what} has ${row.key} twice`);
      seen.add(content);
      digest += content.digest;
      onRecord(content);
    }
  }
  return { count: seen.size, digest: BigInt.asUintN(64, digest).toString(16).padStart(16, '0') };
}

/** The content that a row is of, if it says all that it should of it. */
function contentOf(records, { key, digest, isOf }) {
  return digest === undefined ? records.sentAs(key, isOf) : records.sent(key, digest);
}

export const sha256Of = (bytes) => hash('sha256', bytes, 'hex');

async function* rowsOfNdjson({ path, compression = 'none' }) {
  for (const line of linesOf(unzip(await readFile(path), compression))) yield rowOfLine(line);
}

async function* rowsOfTemplate({ path, compression = 'none' }) {
  for (const line of linesOf(unzip(await readFile(path), compression))) {
    const { of, at } = JSON.parse(line);
    yield {
      key: JSON.stringify([of, ...at]),
      text: line,
      isOf: (content) => isLineOf(content, line),
    };
  }
}

const unzip = (bytes, compression) => (compression === 'gzip' ? gunzipSync(bytes) : bytes);

/** Whether a line is what the template makes of a record. */
function isLineOf({ tenant, store, occurredAt, eventId, marker, x, kind }, line) {
  const [of, at, known] = [tenant, [store, occurredAt, eventId], kind].map((each) =>
    JSON.stringify(each),
  );
  const text = `saw ${marker} of 9007199254740993`;
  return (
    kind !== null && line === `{"of":${of},"at":${at},"text":"${text}","x":${x},"kind":${known}}`
  );
}

const names = ['tenant', 'store', 'event_id', 'occurred_at', 'kind', 'source', 'model'];
/** The longest line that records of the simulator make, with the quotes in it doubled. */
const lineBytes = 2 ** 21;

const rowsOfCsv = ({ path, compression = 'none' }) =>
  rowsOfQuery(`select ${[...names, 'confidence', 'enrichment'].join(', ')}
    from read_csv('${path}', header = true, all_varchar = true, delim = ',', quote = '"', escape = '"', nullstr = '',
      allow_quoted_nulls = false, max_line_size = ${lineBytes}, parallel = false, compression = '${compression}')`);

/** Times as texts, since DuckDB reads them as values of its own. */
const timeSql = `strftime(make_timestamp(epoch_us(occurred_at)), '%Y-%m-%dT%H:%M:%S.%fZ') as occurred_at`;
const columnsSql = names.map((name) => (name === 'occurred_at' ? timeSql : name)).join(', ');

const rowsOfParquet = ({ path }) =>
  rowsOfQuery(`select ${columnsSql}, confidence::varchar as confidence, enrichment::varchar as enrichment
    from read_parquet('${path}', hive_partitioning = false)`);

async function* rowsOfQuery(sql) {
  for await (const { occurred_at: occurredAt, event_id: eventId, ...row } of select(sql)) {
    const { tenant, store } = row;
    yield {
      key: JSON.stringify([tenant, store, occurredAt, eventId]),
      digest: recordDigest({ ...row, eventId, occurredAtMicros: microsOf(occurredAt) }),
    };
  }
}

async function* rowsOfTyped({ path }) {
  const sql = `select ${columnsSql}, to_json(file)::varchar as text
    from read_parquet('${path}', hive_partitioning = false) file`;
  for await (const row of select(sql)) {
    const { tenant, store, occurred_at: occurredAt, event_id: eventId } = row;
    const key = JSON.stringify([tenant, store, occurredAt, eventId]);
    yield { key, text: row.text.slice(0, 500), isOf: (content) => isTypedOf(content, row) };
  }
}

/** Whether the columns and what fits none of them, in `_rest`, are the record together. */
function isTypedOf(content, { kind, source, model, text }) {
  const columns = JSON.parse(text);
  const { enrichment: rest = {}, confidence = columns.confidence } = JSON.parse(
    columns._rest ?? '{}',
  );
  const given = { ...columns, ...rest };
  const sent = JSON.parse(content.enrichment());
  return (
    kind === content.kind &&
    source === null &&
    model === content.model &&
    (confidence === null ? null : Number(confidence)) === content.confidenceValue &&
    Object.keys(sent).every((name) => given[name] === sent[name]) &&
    (given.pad ?? undefined) === sent.pad &&
    // JSON.parse would not tell it from its neighbours.
    /"n\\?":9007199254740993[,}]/.test(text)
  );
}

/**
 * The rows of a query, a few thousand at a time, so that a large file needs little room.
 *
 * @param {string} sql
 * @returns {AsyncGenerator<any>}
 */
async function* select(sql) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    const result = await connection.stream(sql);
    for await (const rows of result.yieldRowObjectJs()) yield* rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
