import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFiles } from './files.mjs';
import { RecordModel } from './model.mjs';
import { content } from './values.mjs';

const where = { tenant: 'TX', store: 'S1', day: '2026-02-01', time: '12:00:00.000001' };
const [one, two] = [
  content({ ...where, event: 1, kind: `it's; "quoted", ok`, size: 60, variant: 1 }),
  content({ ...where, event: 2, kind: '', size: 0, variant: 0 }),
];

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'svcctl-files-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

/** Reads a file of both records, and answers the digest of what was found, and what was told. */
async function read(form, path) {
  const records = new RecordModel();
  const write = records.beginWrite([one, two]);
  records.endWrite(write, ['stored', 'stored']);
  const faults = [];
  const world = { records, say: (text) => faults.push(text) };
  const { count, digest } = await readFiles(world, { form, files: [{ path }], what: 'it' });
  return { count, digest, faults };
}

const whole = {
  count: 2,
  digest: BigInt.asUintN(64, one.digest + two.digest)
    .toString(16)
    .padStart(16, '0'),
  faults: [],
};

function written(name, text) {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

/** Has DuckDB write a query as Parquet. */
async function copied(name, query) {
  const path = join(dir, name);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (${query}) to '${path}' (format parquet)`);
  connection.closeSync();
  instance.closeSync();
  return path;
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
const header = 'tenant,store,event_id,occurred_at,kind,source,model,confidence,enrichment\n';
const lineOfCsv = (record) => {
  const { tenant, store, eventId, occurredAt, kind, model, confidence } = record;
  const texts = [tenant, store, eventId, occurredAt, kind].map(quoted).join();
  const last = `${model === null ? '' : quoted(model)},${confidence ?? ''}`;
  return `${texts},,${last},${quoted(record.enrichment())}\n`;
};

test('CSV has all that was sent, and nothing is not an empty text', async () => {
  const text = header + lineOfCsv(one) + lineOfCsv(two);
  expect(await read('csv', written('whole.csv', text))).toEqual(whole);
  const changed = await read('csv', written('changed.csv', text.replace('"",', ',')));
  expect(changed.faults).toHaveLength(1);
});

test('NDJSON has all that was sent, to the digit, and once', async () => {
  const text = `${one.text()}\n${two.text()}\n`;
  expect(await read('ndjson', written('whole.ndjson', text))).toEqual(whole);
  const spelled = await read('ndjson', written('spelled.ndjson', text.replace('1.50e+3', '1500')));
  expect(spelled.faults[0]).toContain('nobody has sent');
  const twice = await read('ndjson', written('twice.ndjson', text + text));
  expect(twice.faults[0]).toContain('twice');
});

test('typed Parquet is a record by its columns and its rest', async () => {
  const rowOf = (record, { n, rest }) => {
    const { tenant, store, eventId, kind, model, occurredAt, marker } = record;
    const text = (value) => (value === null ? 'null' : `'${value.replaceAll("'", "''")}'`);
    const pad = JSON.parse(record.enrichment()).pad ?? null;
    return `select ${text(tenant)} as tenant, ${text(store)} as store, ${text(eventId)} as event_id,
      timestamp '${occurredAt.slice(0, -1)}' as occurred_at, ${text(kind)} as kind, null::varchar as source,
      ${text(model)} as model, null::double as confidence, ${text(marker)} as marker, ${n} as n,
      1500::double as x, ${text(pad)} as pad, ${text(rest)} as _rest`;
  };
  const rest = (of) => `{"enrichment":${of},"confidence":0.10}`;
  const sound = [
    rowOf(one, { n: 'null::bigint', rest: rest('{"n":9007199254740993}') }),
    rowOf(two, { n: '9007199254740993::bigint', rest: null }),
  ];
  const path = await copied('typed.parquet', sound.join(' union all '));
  expect(await read('typed', path)).toEqual(whole);
  const near = [sound[0], rowOf(two, { n: '9007199254740992::bigint', rest: null })];
  const lost = await read('typed', await copied('near.parquet', near.join(' union all ')));
  expect(lost.faults).toHaveLength(1);
  expect(lost.count).toBe(1);
});

test('a line by a template is that of its record', async () => {
  const line = ({ tenant, store, occurredAt, eventId, marker, x, kind }) =>
    `${JSON.stringify({ of: tenant, at: [store, occurredAt, eventId], text: `saw ${marker} of 9007199254740993`, x: 0, kind })}\n`.replace(
      '"x":0',
      `"x":${x}`,
    );
  const text = line(one) + line(two);
  expect(await read('template', written('lines.ndjson', text))).toEqual(whole);
  const swapped = text.replace(one.marker, two.marker);
  expect((await read('template', written('swapped.ndjson', swapped))).faults).toHaveLength(1);
});
