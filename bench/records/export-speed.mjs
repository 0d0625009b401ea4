import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { to as copyTo } from 'pg-copy-streams';
import { summary } from '../lib/latency.mjs';
import { copyCsv, exportColumns, selectRecords } from '../lib/product.mjs';
import { median } from '../lib/stats.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { drain, requestCsv } from './csv-request.mjs';

const textColumns = [
  'tenant',
  'store',
  'event_id',
  'kind',
  'source',
  'model',
  'datasets',
  'enrichment',
];

/** What one would type: the columns as PostgreSQL itself writes them. */
const plainQuery = `select tenant, store, to_char(occurred_at, 'YYYY-MM') as month, event_id, occurred_at,
  recorded_at, kind, source, model, confidence, bytes, null::text as datasets, enrichment
  from enrichment_records
  where tenant = 'TX' and occurred_at >= '2001-01-01T00:00:00Z' and occurred_at < '2001-04-01T00:00:00Z'
  order by tenant, store, occurred_at, event_id`;

/**
 * Rows a second over HTTP, and of bare COPYs: plain columns and the very text that we write, each as
 * PostgreSQL plans it by itself (a parallel sort) and along the key's index, as our exports read.
 */
export async function measureSpeed({ db, client, size, say, slice }) {
  const plain = () => db.query(copyTo(`copy (${plainQuery}) to stdout (format csv, header true)`));
  const same = () => sameTextCopy(db, slice);
  const ways = {
    ours: (onChunk) => exportOurs(client, slice, onChunk),
    plain: (onChunk) => drainCopy(db, plain, { onChunk }),
    same: (onChunk) => drainCopy(db, same, { onChunk }),
    plainByKey: (onChunk) => drainCopy(db, plain, { onChunk, isByKey: true }),
    sameByKey: (onChunk) => drainCopy(db, same, { onChunk, isByKey: true }),
  };
  say('export: comparing what comes out');
  await assertSame(ways);
  const runs = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  for (let pair = 1; pair <= size.pairs; pair += 1) {
    say(`export: round ${pair} of ${size.pairs}`);
    for (const [name, way] of Object.entries(ways)) {
      const startedAt = performance.now();
      const { rows, bytes } = await way();
      const seconds = (performance.now() - startedAt) / 1000;
      runs[name].push({ rows, perSecond: rows / seconds, bytesPerSecond: bytes / seconds });
    }
  }
  return report(runs, slice);
}

async function exportOurs(client, slice, onChunk) {
  const { response, rowCount } = await requestCsv(client, slice);
  const bytes = await drain(response, onChunk);
  return { rows: rowCount, bytes, trailer: response.trailers['repr-digest'] };
}

async function drainCopy(db, open, { onChunk, isByKey = false }) {
  await db.query(`set enable_sort = ${isByKey ? 'off' : 'on'}`);
  const copy = open();
  // What breaks the reading is thrown there; a second telling would end the process.
  copy.on('error', () => {});
  const bytes = await drain(copy, onChunk);
  return { rows: (await copy.counted) ?? copy.rowCount, bytes };
}

/** The service's own expressions, quoting and header. */
function sameTextCopy(client, { tenant, from }) {
  const slice = { tenant, from, until: '2001-04-01', tenants: null };
  // Those that an export has by default.
  const columns = exportColumns.filter((name) => name !== 'split');
  const query = selectRecords(slice, { kind: 'csv', columns });
  return copyCsv({ client }, query, { header: true, quoted: textColumns });
}

/** Ours must be, byte for byte, what PostgreSQL writes; and all have equally many rows. */
async function assertSame(ways) {
  const seen = {};
  for (const [name, way] of Object.entries(ways)) {
    const hash = createHash('sha256');
    let lines = -1;
    const result = await way((chunk) => {
      hash.update(chunk);
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
    });
    seen[name] = { ...result, lines, sha256: hash.digest('base64') };
  }
  const { ours } = seen;
  const isEqual =
    ours.trailer === `sha-256=:${ours.sha256}:` &&
    [seen.same, seen.sameByKey].every(({ sha256 }) => sha256 === ours.sha256) &&
    Object.values(seen).every(({ rows, lines }) => rows === ours.rows && lines === ours.rows);
  if (!isEqual) throw new Error(`exports differ: ${JSON.stringify(seen)}`);
}

/** How long until the first byte of the body; the client then hangs up. */
export async function measureFirstByte({ db, client, service, size, say, slice }) {
  say('export: first byte');
  const times = [];
  for (let i = 0; i < size.firstBytes; i += 1) {
    const startedAt = performance.now();
    const { asked, response } = await requestCsv(client, slice);
    await new Promise((resolve, reject) => {
      response.once('data', resolve);
      response.once('error', reject);
    });
    times.push(performance.now() - startedAt);
    response.on('error', () => {});
    asked.destroy();
    await untilIdle(db, service.pid);
  }
  const { p50, max } = summary(times);
  return markdownTable(
    [`first byte of ${slice.tenant} ${slice.from} … ${slice.to}`, 'time:', 'goal'],
    [
      [`median of ${times.length}`, formatMillis(p50), goal('< 100 ms', p50 < 100)],
      ['slowest', formatMillis(max), goal('< 100 ms', max < 100)],
    ],
  );
}

/** Waits until the service's connections run nothing. */
async function untilIdle(db, pid) {
  for (;;) {
    const { rows } = await db.query(
      "select count(*)::int as busy from pg_stat_activity where application_name = $1 and state <> 'idle'",
      [`svcctl:${pid}`],
    );
    if (rows[0].busy === 0) return;
    await delay(10);
  }
}

function report(runs, slice) {
  const of = (name, field) => median(runs[name].map((run) => run[field]));
  const rows = [
    ['over HTTP', 'ours'],
    ['bare `COPY TO`, plain columns', 'plain'],
    ['bare `COPY TO`, same text', 'same'],
    ['bare `COPY TO`, plain columns, along the key', 'plainByKey'],
    ['bare `COPY TO`, same text, along the key', 'sameByKey'],
  ].map(([title, name]) => {
    const ratio = of('ours', 'perSecond') / of(name, 'perSecond');
    return [
      title,
      formatCount(of(name, 'perSecond')),
      formatCount(of(name, 'bytesPerSecond') / 1e6),
      name === 'ours' ? none : formatRatio(ratio),
      name === 'ours' ? none : goal('≥ 0.8', ratio >= 0.8),
    ];
  });
  return [
    `${slice.tenant}, ${slice.from} … ${slice.to}, ${formatCount(runs.ours[0].rows)} rows, all columns, in key order, no gzip, drained by the same Node process. The ratio is ours to that row, in rows/s. "Plain columns" leaves times to PostgreSQL's own spelling; the bytes of "same text" equal ours (compared by SHA-256). "Along the key" reads the index in order, as our exports do (\`enable_sort = off\`); the others run as PostgreSQL plans them by itself. In turn, ${runs.ours.length} × each; medians.`,
    markdownTable(['', 'rows/s:', 'MB/s:', 'ratio:', 'goal'], rows),
  ].join('\n\n');
}
