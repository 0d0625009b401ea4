import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ingestFile } from '../lib/client.mjs';
import { watchTree } from '../lib/memory.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { runRetention } from '../retention/world.mjs';
import { tenantName } from './shape.mjs';
import { timed } from './world.mjs';

/** A day of which the worlds hold nothing yet. */
const day = '2026-01-15';
/** The days over which the made-up records would be spread evenly. */
const daysInAll = 5 * 365.25;

/** So many tenants have records that day. Each costs a move of its own: with all of them a run would take much longer. */
const mostTenants = 5000;

/** A day's records: stored, planned and moved. */
export async function benchDay({ dir, small, large, say }) {
  const figures = [];
  for (const world of [small, large]) {
    say(`a day of ${formatCount(world.records)} records`);
    figures.push(await measureDay(dir, world));
  }
  const [before, after] = figures;
  const line = (title, of, format, most) => {
    const ratio = of(after) / of(before);
    const cells = [title, format(of(before)), format(of(after))];
    if (most === undefined) return [...cells, none, none];
    return [...cells, formatRatio(ratio), goal(`≤ ${most}`, ratio <= most)];
  };
  return [
    '### One day',
    `As many records as an even spread over five years would bring in a day, of at most ${formatCount(mostTenants)} tenants, in one NDJSON stream; then the plan of what is due, and a run that moves it.`,
    markdownTable(
      ['', 'small:', 'large:', 'ratio:', 'goal'],
      [
        line('records', ({ records }) => records, formatCount),
        line('tenants', ({ tenants }) => tenants, formatCount),
        line(
          'ingest, records/s',
          ({ records, ingestMillis }) => (records / ingestMillis) * 1000,
          formatCount,
        ),
        line('plan, first page', ({ firstPlanMillis }) => firstPlanMillis, formatMillis),
        line('plan, all pages', ({ planMillis }) => planMillis, formatMillis),
        line('pages of the plan', ({ planPages }) => planPages, formatCount),
        line('move', ({ moveMillis }) => moveMillis, formatSeconds),
        line(
          'move, milliseconds a tenant',
          ({ moveMillis, tenants }) => moveMillis / tenants,
          (value) => value.toFixed(1),
        ),
        line(
          'memory while moving, service and DuckDB',
          ({ peakBytes }) => peakBytes,
          formatMiB,
          1.3,
        ),
      ],
    ),
  ].join('\n\n');
}

async function measureDay(dir, world) {
  const { client, service } = world;
  const tenants = Math.min(mostTenants, world.tenants);
  const perTenant = Math.max(1, Math.round(world.records / daysInAll / tenants));
  const path = join(dir, `day-${tenants}.ndjson`);
  await pipeline(Readable.from(lines(tenants, perTenant)), createWriteStream(path));
  const [ingestMillis, answer] = await timed(() => ingestFile(client, path));
  const records = tenants * perTenant;
  if (answer.accepted !== records) throw new Error(`${answer.accepted} of ${records} accepted`);
  const [firstPlanMillis] = await timed(() => client.get('/api/v1/retention/plan'));
  const [planMillis, planPages] = await timed(() => walk(client));
  const memory = await watchTree(service.pid, () => timed(() => runRetention(world, {})));
  const [moveMillis, run] = memory.result;
  if (run.moved_count !== records) throw new Error(`${run.moved_count} of ${records} moved`);
  const { peakBytes } = memory;
  return {
    records,
    tenants,
    ingestMillis,
    firstPlanMillis,
    planMillis,
    planPages,
    moveMillis,
    peakBytes,
  };
}

function* lines(tenants, perTenant) {
  for (let k = 0; k < perTenant; k += 1) {
    let text = '';
    for (let t = 0; t < tenants; t += 1) {
      const at = new Date(Date.parse(`${day}T00:00:00Z`) + k * 1000 + (t % 1000)).toISOString();
      const record = {
        tenant: tenantName(t),
        store: `store-${1 + (t % 2)}`,
        event_id: `day-${k}-${t}`,
        occurred_at: at,
        kind: 'intrusion',
        confidence: 0.5,
        enrichment: { score: (k * t) % 1000, zone: 'dock' },
      };
      text += `${JSON.stringify(record)}\n`;
    }
    yield text;
  }
}

async function walk(client) {
  let pages = 0;
  let cursor = '';
  for (;;) {
    const { body } = await client.get(`/api/v1/retention/plan${cursor}`);
    pages += 1;
    if (body.next_cursor === null) return pages;
    cursor = `?cursor=${encodeURIComponent(body.next_cursor)}`;
  }
}
