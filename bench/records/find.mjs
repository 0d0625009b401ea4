import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { ingestFile, runRetention } from '../lib/client.mjs';
import { inTurn, mapValues, summary, timed } from '../lib/measure.mjs';
import { coldSettings, startAlone, writeFlights } from '../lib/service.mjs';
import { formatCount, goal, latencyCells, markdownTable, none, section } from '../lib/table.mjs';

const tenant = 'TX';

/**
 * An event of which only the id is known, what else holds of records, and what is in them: hot and then cold, against
 * the statement that one would write in PostgreSQL, or in DuckDB over the files of the segments.
 */
export async function benchFind({ sizes, say, ...bench }) {
  const { flights, requests } = sizes.find;
  const { client, service, db } = await startAlone(bench, 'find', coldSettings);
  const path = join(bench.dir, 'find.ndjson');
  say(`find: storing ${formatCount(flights)} flights`);
  await writeFlights(path, flights);
  await ingestFile(client, path);
  await db.query('vacuum (analyze) enrichment_records, leaf_days, leaf_stores');
  const found = await db.query(
    'select event_id from enrichment_records order by md5(event_id) limit $1',
    [requests],
  );
  const events = found.rows.map(({ event_id: event }) => event);
  const hot = await measure({ client, events, requests, tier: 'hot', rows: rowsOfDatabase(db) });
  say('find: moving them cold');
  await runRetention({ service, client });
  const folder = join(bench.dir, 'find', 'cold', 'records');
  const files = readdirSync(folder, { recursive: true }).filter((name) =>
    String(name).endsWith('.parquet'),
  );
  const duckdb = await openSegments(bench.scope, folder);
  const cold = await measure({ client, events, requests, tier: 'cold', rows: duckdb });
  return section(
    `Find, where and facts: ${formatCount(flights)} flights`,
    `${requests} requests each, in turn; the cold ones lie in ${files.length} segments. \`bare\` is PostgreSQL, and DuckDB over these files; neither is bounded in what it reads, and the facts are of one field where ours are of all. The goals are those of the p99 for an id of which nothing else is known.`,
    markdownTable(['', 'p50:', 'p99:', 'goal', 'bare p50:', 'ratio:'], [...hot, ...cold]),
  );
}

async function measure({ client, events, requests, tier, rows }) {
  const wheres = {
    'much fits': 'delay >= 0',
    'one of 300': 'delay >= 180',
    nothing: 'delay > 1e9',
  };
  const delay = { hot: `(enrichment->>'delay')::float8`, cold: `(enrichment->>'delay')::double` };
  const iata = { hot: `enrichment#>>'{origin,iata}'`, cold: `enrichment->>'$.origin.iata'` };
  const ours = {};
  const bare = {};
  const get = (query) => client.get(`/api/v1/enrichment/${query}`);
  ours['an event, by its id'] = async (round) => {
    const event = events[Math.max(0, round) % events.length];
    const { body, elapsedMillis } = await get(`records?event_id=${event}`);
    if (body.data.length !== 1) throw new Error(`${event} was found ${body.data.length} times`);
    return elapsedMillis;
  };
  bare['an event, by its id'] = (round) =>
    rows(`select * from records where event_id = '${events[round % events.length]}'`);
  for (const [name, where] of Object.entries(wheres)) {
    const title = `a page with a where: ${name}`;
    const query = new URLSearchParams({ tenant, limit: '100', where });
    ours[title] = async () => (await get(`records?${query}`)).elapsedMillis;
    bare[title] = () =>
      rows(`select * from records where tenant = '${tenant}' and ${where.replace('delay', delay[tier])}
        order by store, occurred_at, event_id limit 100`);
  }
  ours['facts: kind, source, model'] = async () =>
    (await get(`facts?tenant=${tenant}`)).elapsedMillis;
  bare['facts: kind, source, model'] = () =>
    rows(`select kind, source, count(*) from records where tenant = '${tenant}'
      group by grouping sets ((kind), (source))`);
  ours['facts: fields'] = async () => (await get(`fields?tenant=${tenant}`)).elapsedMillis;
  bare['facts: fields'] = () =>
    rows(`select ${iata[tier]}, count(*) from records where tenant = '${tenant}' group by 1`);
  const own = mapValues(await inTurn(ours, requests, { warmups: 2 }), summary);
  const other = mapValues(await inTurn(bare, Math.min(requests, 20), { warmups: 1 }), summary);
  const goals = { hot: 100, cold: 300 };
  return Object.entries(own).map(([name, times]) => [
    `${name}, ${tier}`,
    ...latencyCells(times),
    name.startsWith('an event') ? goal(`≤ ${goals[tier]} ms`, times.p99) : none,
    latencyCells(other[name])[0],
    (times.p50 / other[name].p50).toFixed(2),
  ]);
}

/** Answers how long the statement takes until all of its rows are there. */
function rowsOfDatabase(db) {
  return async (statement) =>
    (await timed(() => db.query(statement.replace('from records', 'from enrichment_records'))))[0];
}

async function openSegments(scope, folder) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  scope.defer(() => {
    connection.closeSync();
    instance.closeSync();
  });
  const records = `from read_parquet('${folder}/tenant=*/*.parquet', hive_partitioning = false)`;
  return async (statement) =>
    (await timed(() => connection.runAndReadAll(statement.replace('from records', records))))[0];
}
