import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { exportColumns } from '../packages/server/src/exports/values.ts';
import { runs } from '../packages/server/test/runs.ts';
import { openExport } from './lib/api.ts';
import { readCsv } from './lib/csv.ts';
import { useInstallation, useService } from './lib/installation.ts';
import { readWithDuckDb, readWithPostgres } from './lib/read-back.ts';

const installation = useInstallation();
const service = useService(installation, { SVC_RATE_LIMIT: '0' });
let url: string;
beforeAll(async () => {
  url = await installation.postgresUrl();
});

/** A record whose JSON text is ours to choose: `confidence` and `enrichment` go in to the letter. */
type Awkward = {
  event_id: string;
  kind?: string | null;
  source?: string | null;
  model?: string | null;
  confidence?: string;
  enrichment: string;
};

const day = '2001-03-05';
const instant = `${day}T14:07:09.123456Z`;

const awkwardTexts = [
  '',
  ' ',
  'NULL',
  'null',
  '\\N',
  '\\.',
  'a\n\\.\nb',
  '\\',
  '\\t',
  '"',
  '""',
  '"quoted"',
  'say "no", please',
  ',',
  ',,',
  '\n',
  '\r',
  '\r\n',
  'two\nlines',
  'two\rlines',
  'two\r\nlines\r\n',
  '\ttab\t',
  ' leading and trailing ',
  '=1+2',
  '+1',
  '-1',
  '@SUM(A1)',
  "'apostrophe",
  '#comment',
  '1',
  '1.0',
  '007',
  'true',
  '2001-03-05',
  '\ufeffbyte order mark',
  'זה טקסט מימין לשמאל',
  '\u202eright to left override\u202c',
  'e\u0301 combining, \u00e9 composed',
  '👩‍👩‍👧‍👦 family, 🏳️‍🌈 flag',
  '𝄞 beyond the first plane',
  '\u2028line separator\u2029',
  '\u0085next line',
  '\u0002\u0008\u000b\u000c\u001a\u001b\u007f controls',
  '＝full width',
  'x'.repeat(200),
];

const awkwardEnrichments = [
  '{}',
  '{"big":12345678901234567890,"max":9223372036854775807,"min":-9223372036854775808}',
  '{"spellings":[1.0,1.00,0.10,1e3,1E+3,1e-7,-0,-0.0,1e400,0.1234567890123456789012345678901234567890]}',
  '{"text":"quotes \\" commas , lines \\n \\r\\n tabs \\t slashes \\\\ \\/ \\u00e9 \\ud83d\\ude00"}',
  '{"z":1,"a":2,"":3," ":4,"__proto__":5}',
  '{"raw":"é 👩‍👩‍👧‍👦 \u2028 ﷽ \ufeff"}',
  '{"nested":{"list":[[],{},[{"deep":null}],true,false,null,""]}}',
];

const awkward: Awkward[] = [
  ...awkwardTexts.map((text, n) => ({
    event_id: `text-${String(n).padStart(3, '0')}`,
    kind: text,
    source: n % 2 === 0 ? null : text,
    ...(n % 3 === 0 ? {} : { model: text }),
    enrichment: `{"text":${JSON.stringify(text)}}`,
  })),
  ...awkwardEnrichments.map((enrichment, n) => ({ event_id: `value-${n}`, enrichment })),
  ...['0', '1', '0.10', '1e-3', '1.000', '0.12345678901234567890', '0E5'].map((confidence, n) => ({
    event_id: `confidence-${n}`,
    confidence,
    enrichment: '{}',
  })),
  ...[' ', '"', ',', '=1', '\\N', 'é👩‍👩‍👧‍👦', '\ufeff', "';--"].map((event_id) => ({
    event_id,
    enrichment: '{}',
  })),
];

test('machine CSV is read back by DuckDB and by PostgreSQL cell by cell as it was sent', async () => {
  for (const [n, tenant] of ['TX', '"tenant", \\N', '=אב'].entries()) {
    const store = ['DFW', '+"store"', 's\u00a0x'][n] ?? '';
    await ingest(tenant, store, awkward);
    const csv = await exportCsv({ tenant, store });
    expectMachineDialect(csv);
    const sent = await expectedRows(tenant, store, awkward);
    for (const back of [await readWithDuckDb(csv), await readWithPostgres(url, csv)]) {
      expect(back.columns).toEqual(allColumns);
      expect(back.rows).toEqual(sent);
    }
  }
});

test('the first cell of a headerless export may begin with a byte order mark', async () => {
  const csv = await exportCsv({ tenant: '=אב', header: false, columns: ['tenant', 'kind'] });
  const [first] = readCsv(csv.toString());
  expect(first?.[0]).toEqual({ text: '=אב', isQuoted: true });
});

const labelText = fc
  .oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
    { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(...'",\n\r\t\\N.\'=+-@ a1') }) },
    { weight: 1, arbitrary: fc.constantFrom(...awkwardTexts) },
  )
  // What the contract refuses in a label.
  .map((text) => text.replace(/[\0\x01\x1f]/g, ''));

const anyRecord = fc.record({
  event_id: labelText.map((text) => text.replace(/\p{Cc}/gu, '')).filter((text) => text !== ''),
  kind: fc.option(labelText),
  source: fc.option(labelText),
  model: fc.option(labelText),
  enrichment: fc
    .dictionary(labelText, fc.oneof(labelText, fc.double(), fc.boolean(), fc.constant(null)))
    .map((value) => JSON.stringify(value)),
});

// Few exports of many records each: what costs is the round trip, and what is tried is the text of their cells.
test('any text makes the same round trip', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(anyRecord, {
        selector: (own) => own.event_id,
        minLength: 1,
        maxLength: 60,
        size: 'max',
      }),
      async (records) => {
        run += 1;
        const store = `run-${run}`;
        await ingest('ANY', store, records);
        const csv = await exportCsv({ tenant: 'ANY', store });
        const read = run % 2 === 0 ? readWithDuckDb(csv) : readWithPostgres(url, csv);
        expect((await read).rows).toEqual(await expectedRows('ANY', store, records));
      },
    ),
    { numRuns: runs(12) },
  );
});

const allColumns = exportColumns.filter((column) => column !== 'split');
const bareColumns = ['month', 'occurred_at', 'recorded_at', 'confidence', 'bytes'];

/** Text is always quoted, numbers and times never, NULL is nothing at all. */
function expectMachineDialect(csv: Buffer): void {
  const [, ...rows] = readCsv(csv.toString());
  expect(rows).toHaveLength(awkward.length);
  for (const cell of rows.flatMap((row) => row.map((own, n) => ({ own, name: allColumns[n] })))) {
    if (cell.own === null) continue;
    expect(cell.own.isQuoted, cell.name).toBe(!bareColumns.includes(cell.name ?? ''));
  }
}

/** What was sent, as the rows of its export: only `recorded_at` has to be asked for. */
async function expectedRows(tenant: string, store: string, records: readonly Awkward[]) {
  const query = new URLSearchParams({ tenant, store, limit: '500' });
  const page = await service.call('GET', `/enrichment/records?${query.toString()}`);
  const recordedAt = new Map<string, string>(
    page.json.data.map((row: Record<string, string>) => [row.event_id, row.recorded_at]),
  );
  return [...records].sort(byEventId).map((record) => {
    const { event_id, kind = null, source = null, model = null, confidence = null } = record;
    return [
      tenant,
      store,
      day.slice(0, 7),
      event_id,
      instant,
      recordedAt.get(event_id),
      kind,
      source,
      model,
      confidence,
      String(Buffer.byteLength(toJson(tenant, store, record))),
      null,
      record.enrichment,
    ];
  });
}

/** The record as one NDJSON line, absent fields left out: what `bytes` measures. */
function toJson(tenant: string, store: string, record: Awkward): string {
  const { event_id, kind, source, model, confidence, enrichment } = record;
  const labels = Object.entries({ kind, source, model }).filter(([, text]) => text != null);
  const head = { tenant, store, event_id, occurred_at: instant, ...Object.fromEntries(labels) };
  const number = confidence === undefined ? '' : `"confidence":${confidence},`;
  return `${JSON.stringify(head).slice(0, -1)},${number}"enrichment":${enrichment}}`;
}

function byEventId(a: Awkward, b: Awkward): number {
  return Buffer.compare(Buffer.from(a.event_id), Buffer.from(b.event_id));
}

async function ingest(tenant: string, store: string, records: readonly Awkward[]): Promise<void> {
  const body = `{"records":[${records.map((record) => toJson(tenant, store, record)).join(',')}]}`;
  const answer = await service.call('POST', '/enrichment/records', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.json.rejected).toEqual([]);
  expect(answer.json.accepted).toBe(records.length);
}

async function exportCsv(body: Record<string, unknown>): Promise<Buffer> {
  const download = await openExport(service, body);
  const csv = await download.readAll();
  expect(download.response.statusCode, csv.toString().slice(0, 500)).toBe(200);
  return csv;
}
