import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { barePath, startBare } from '../lib/bare.mjs';
import { createClient, ingestFile, pagesOf } from '../lib/client.mjs';
import { compareLatencies, summary } from '../lib/measure.mjs';
import { startAlone } from '../lib/service.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
  ratioCells,
  section,
} from '../lib/table.mjs';

const store = { tenant: 'big', store: 'leaf' };
const leaf = { ...store, month: '2001-03' };
const slice = { ...store, from: '2001-03-01', until: '2001-04-01', tenants: null };
const pageRows = 500;

/** Pages at both ends of one large leaf against a bare server of the same statement. */
export async function benchPages({ sizes, say, ...bench }) {
  const size = sizes.pages;
  const { databaseUrl, client: ours, db } = await startAlone(bench, 'pages');
  const bare = createClient(bench.scope, await startBare(bench.scope, 'queries', databaseUrl));

  say(`pages: storing a leaf of ${formatCount(size.records)} records`);
  const linesPath = join(bench.dir, 'leaf.ndjson');
  await pipeline(Readable.from(leafLines(size.records)), createWriteStream(linesPath));
  await ingestFile(ours, linesPath);
  await db.query('vacuum (analyze) enrichment_records');

  say('pages: walking over the whole leaf');
  const walk = await walkLeaf(ours, size.records);
  const rows = [];
  for (const limit of [100, pageRows]) {
    say(`pages: ${limit} records`);
    const kinds = places(walk.lastPlaces).map((at) => ({
      ...at,
      limit,
      paths: (i) => pathsOf(at.place(i), at.order, limit),
    }));
    for (const { paths } of kinds) await assertSameRows({ ours, bare }, paths(0), limit);
    const found = await compareLatencies(
      { ours, bare },
      kinds.map(({ paths }) => paths),
      size.requests,
    );
    rows.push(...kinds.map((kind, i) => ({ ...kind, ...found[i] })));
  }
  return report(rows, { walk, size });
}

/** Made-up detections, evenly spread over the month, about 400 bytes each. */
function* leafLines(count) {
  const start = Date.UTC(2001, 2, 1) * 1000;
  const stepMicros = Math.floor((31 * 86_400 * 1_000_000) / count);
  let text = '';
  for (let i = 0; i < count; i += 1) {
    const micros = start + i * stepMicros;
    const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
    const record = {
      ...store,
      event_id: `ev-${String(i).padStart(8, '0')}`,
      occurred_at: `${seconds}.${String(micros % 1_000_000).padStart(6, '0')}Z`,
      kind: ['theft', 'queue', 'spill', 'entry'][i % 4],
      source: `camera-${i % 37}`,
      model: 'detector-7',
      confidence: ((i * 7919) % 1000) / 1000,
      enrichment: {
        zone: `aisle-${i % 23}`,
        box: [i % 640, i % 480, (i % 320) + 20, (i % 240) + 20],
        person: {
          id: `p-${(i * 31) % 100_000}`,
          dwell_s: (i % 900) / 10,
          seen_before: i % 3 === 0,
        },
        labels: ['bag', 'coat', 'basket'].slice(0, (i % 3) + 1),
        note: `Event ${i} was enriched from camera, till and shelf.`,
      },
    };
    text += `${JSON.stringify(record)}\n`;
    if (text.length < 256 * 1024) continue;
    yield text;
    text = '';
  }
  yield text;
}

/** Every record of the leaf, page by page; keeps where the last ten pages begin. */
async function walkLeaf(client, records) {
  const eventIds = new Set();
  const times = [];
  const lastPlaces = [];
  let seen = 0;
  for await (const { body, elapsedMillis } of pagesOf(client, requestPath(null, 'asc', pageRows))) {
    times.push(elapsedMillis);
    seen += body.data.length;
    for (const record of body.data) eventIds.add(record.event_id);
    const cursor = body.next_cursor;
    const { tenant, store, occurred_at, event_id } = body.data.at(-1);
    const isNearEnd = cursor !== null && seen <= records - 100;
    if (isNearEnd) lastPlaces.push({ cursor, after: [tenant, store, occurred_at, event_id] });
    if (lastPlaces.length > 10) lastPlaces.shift();
  }
  const [counted] = (await client.get(`/api/v1/enrichment/datasets?${new URLSearchParams(leaf)}`))
    .body.data;
  if (seen !== records || eventIds.size !== records || counted.count !== records) {
    throw new Error(
      `the walk saw ${seen} records, ${eventIds.size} different ones, of ${records}; the leaf says ${counted.count}`,
    );
  }
  const totalMillis = times.reduce((a, b) => a + b);
  return { lastPlaces, pages: times.length, totalMillis, ...summary(times) };
}

function places(lastPlaces) {
  const last = (i) => lastPlaces[i % lastPlaces.length];
  return [
    { name: 'first page', order: 'asc', place: () => null },
    { name: 'page at the end', order: 'asc', isEnd: true, place: last },
    { name: 'first page, newest first', order: 'desc', place: () => null },
  ];
}

function requestPath(cursor, order, limit) {
  const asked = new URLSearchParams({ ...leaf, order, limit: String(limit) });
  if (cursor !== null) asked.set('cursor', cursor);
  return `/api/v1/enrichment/records?${asked}`;
}

function pathsOf(place, order, limit) {
  const scan = {
    after: place?.after ?? null,
    descending: order === 'desc',
    limit: limit + 1,
    scanLimit: null,
  };
  return {
    ours: requestPath(place?.cursor ?? null, order, limit),
    bare: barePath('records', slice, scan),
  };
}

async function assertSameRows({ ours, bare }, paths, limit) {
  const own = (await ours.get(paths.ours)).body.data;
  const other = (await bare.get(paths.bare)).body.slice(0, limit);
  const ids = (rows) => rows.map((row) => row.event_id).join();
  if (own.length === 0 || ids(own) !== ids(other)) {
    throw new Error(`ours and the bare handler differ: ${paths.ours}`);
  }
}

function report(rows, { walk, size }) {
  const cells = rows.map((row) => {
    const first = rows.find((other) => other.limit === row.limit);
    const toFirst = row.ours.p50 / first.ours.p50;
    return [
      `${row.name}, ${row.limit} records`,
      formatMillis(row.ours.p50),
      formatMillis(row.bare.p50),
      ...ratioCells(row.ratio, '≤ 1.5'),
      formatMillis(row.ours.p99),
      row === first ? none : formatRatio(toFirst),
      row.isEnd ? goal('≤ 1.2', toFirst) : none,
    ];
  });
  return section(
    `Pages: a leaf of ${formatCount(size.records)} records`,
    `\`GET /enrichment/records\` against a bare node:http handler of the same statement; ${size.requests} requests a side, in turn.`,
    markdownTable(
      ['', 'ours p50:', 'bare p50:', 'ratio:', 'goal', 'ours p99:', 'to the first page:', 'goal'],
      cells,
    ),
    `A walk over the whole leaf, ${formatCount(walk.pages)} pages of ${pageRows}: ${formatSeconds(walk.totalMillis)}, p50 ${formatMillis(walk.p50)}, p99 ${formatMillis(walk.p99)}; it saw each record exactly once, as many as the leaf counts.`,
  );
}
