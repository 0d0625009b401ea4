import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { postAll } from '../lib/post-all.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatMillis, formatRatio, markdownTable } from '../lib/table.mjs';
import { drain, requestCsv } from '../records/csv-request.mjs';
import { runRetention, tenant } from '../retention/world.mjs';
import { measure } from './world.mjs';

const paths = {
  'page of 100 of a tenant': `/api/v1/enrichment/records?tenant=${tenant}&month=2001-02&limit=100`,
  'page of 100 over all tenants': '/api/v1/enrichment/records?limit=100',
  'tree, all tenants': '/api/v1/enrichment/datasets?level=tenant&limit=100',
  'tree, months of a tenant': `/api/v1/enrichment/datasets?tenant=${tenant}&limit=100`,
};

/** What a server does with records, and a cluster with the same. */
export async function benchRecords({ dir, sides, sizes, say }) {
  const path = join(dir, 'citus.ndjson');
  const flights = await writeFlights(path, sizes.flights);
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, sizes.singles);
  const runs = new Map();
  const keep = (name, side, run) => {
    const kept = runs.get(name) ?? { plain: [], citus: [] };
    kept[side.name].push(run);
    runs.set(name, kept);
  };
  for (let round = 0; round <= sizes.rounds; round += 1) {
    for (const side of sides) {
      say(`records: ${side.name}, round ${round} of ${sizes.rounds}`);
      // In the first one months are made and connections opened.
      const isCounted = round > 0 || sizes.rounds === 0;
      const note = (name, run) => isCounted && keep(name, side, run);
      await measureRound(side, { path, lines, sizes, round, note });
    }
  }
  return report(runs, { flights, sizes });
}

async function measureRound(side, { path, lines, sizes, round, note }) {
  const { client, db, service } = side;
  await clear(side);
  const ingest = await measure(side, async () => (await ingestFile(client, path)).accepted);
  note('NDJSON, records', ingest);
  await db.query('vacuum (analyze) enrichment_records');
  for (const [name, asked] of Object.entries(paths)) {
    const millis = [];
    const run = await measure(side, async () => {
      for (let n = 0; n < sizes.requests; n += 1) {
        millis.push((await client.get(asked)).elapsedMillis);
      }
      return sizes.requests;
    });
    note(name, { ...run, p50: median(millis) });
  }
  note('CSV, rows', await measure(side, () => exportAll(client)));
  const moved = await measure(side, async () => (await runRetention(side, {})).moved_count);
  note('moved to the cold tier, records', moved);
  for (const clients of [1, 16]) {
    const bodies = lines.map(
      (line) =>
        `{"records":[${line.replace('"fl-', `"s${round}-${clients}-`).replace('2001', '2002')}]}`,
    );
    let sent;
    const run = await measure(side, async () => {
      sent = await postAll(service, { path: '/api/v1/enrichment/records', bodies, clients, check });
      return bodies.length;
    });
    const unit = clients === 1 ? 'single records, one client' : 'single records, 16 clients';
    note(unit, { ...run, p50: median(sent.millis) });
  }
}

function check(body) {
  if (!body.startsWith('{"accepted":1')) throw new Error(`answered ${body}`);
}

async function exportAll(client) {
  const { response, rowCount } = await requestCsv(client, { tenant });
  await drain(response);
  return rowCount;
}

/** Leaves nothing of the round before. */
async function clear({ db }) {
  await db.query(
    `truncate enrichment_records, leaf_days, leaf_months, leaf_stores, leaf_tenants, tenant_days, tenant_months,
      segments, segment_days, moves, move_days, move_segments, object_removals`,
  );
}

function report(runs, { flights, sizes }) {
  const rows = [...runs].map(([name, { plain, citus }]) => {
    const isTimed = plain[0].p50 !== undefined;
    const value = (side) => median(side.map((run) => (isTimed ? run.p50 : run.perSecond)));
    const cpu = (side) => median(side.map((run) => run.cpu));
    const shown = (side) => (isTimed ? formatMillis(value(side)) : `${formatCount(value(side))}/s`);
    return [
      `${name}${isTimed ? ', p50' : ''}`,
      shown(plain),
      shown(citus),
      formatRatio(value(citus) / value(plain)),
      formatCpu(cpu(plain)),
      formatCpu(cpu(citus)),
    ];
  });
  return [
    `### Records: ${formatCount(flights)} flights`,
    `One server against a coordinator and two workers of the same programs, all on this machine, so that a cluster has no more cores than the one server. ${Math.max(1, sizes.rounds)} rounds each, in turn; medians. CPU is that of all servers of a side for one record, request or row.`,
    markdownTable(['', 'one server:', 'Citus:', 'ratio:', 'CPU, one server:', 'CPU, Citus:'], rows),
  ].join('\n\n');
}

export function formatCpu(millis) {
  return millis < 1 ? `${(millis * 1000).toFixed(0)} µs` : formatMillis(millis);
}
