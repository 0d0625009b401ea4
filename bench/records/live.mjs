import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createClient } from '../lib/client.mjs';
import { mapValues, summary } from '../lib/measure.mjs';
import { startAlone } from '../lib/service.mjs';
import { formatCount, formatMillis, markdownTable, section } from '../lib/table.mjs';

const tenant = 'TX';

/** How long after a record is stored each of those hears of it who follow its tenant. */
export async function benchLive({ sizes, say, ...bench }) {
  const { records, followers } = sizes.live;
  const { client, service } = await startAlone(bench, 'live');
  say(`live: ${formatCount(records)} records, ${followers} followers`);
  const tails = await Promise.all(
    Array.from({ length: followers }, () => follow(createClient(bench.scope, service))),
  );
  const times = { stored: [], first: [], last: [] };
  for (let n = 0; n < records; n += 1) {
    const record = { tenant, store: 'DFW', event_id: `live-${n}`, enrichment: { n } };
    const told = tails.map((tail) => tail.hears(record.event_id));
    const sentAt = performance.now();
    const body = { records: [{ ...record, occurred_at: new Date().toISOString(), kind: 'live' }] };
    const { statusCode } = await client.send('POST', '/api/v1/enrichment/records', body);
    if (statusCode !== 200) throw new Error(`a record was answered ${statusCode}`);
    times.stored.push(performance.now() - sentAt);
    const heardAt = await Promise.all(told);
    times.first.push(Math.min(...heardAt) - sentAt);
    times.last.push(Math.max(...heardAt) - sentAt);
  }
  const rows = mapValues(times, summary);
  const row = (title, { p50, p99 }) => [title, formatMillis(p50), formatMillis(p99)];
  return section(
    `LIVE: ${formatCount(records)} records, ${followers} followers`,
    `\`GET /enrichment/records/tail\` of a tenant, open ${followers} times, while its records are sent one by one, each when all have heard of the one before. From the request on.`,
    markdownTable(
      ['', 'p50:', 'p99:'],
      [
        row('stored, and answered so', rows.stored),
        row('the first follower has it', rows.first),
        row('all followers have it', rows.last),
      ],
    ),
  );
}

/** Follows the tenant. `hears` answers when the event of this id has come. */
async function follow(client) {
  const asked = client.open('GET', `/api/v1/enrichment/records/tail?tenant=${tenant}`);
  asked.end();
  const [response] = await once(asked, 'response');
  if (response.statusCode !== 200) throw new Error(`the tail answered ${response.statusCode}`);
  const waiting = new Map();
  // At the end of the bench its connection is cut, of which both tell.
  const lines = createInterface({ input: response.on('error', () => {}) }).on('error', () => {});
  lines.on('line', (line) => {
    const [, id] = /"event_id":"([^"]*)"/.exec(line) ?? [];
    waiting.get(id)?.(performance.now());
    waiting.delete(id);
  });
  return {
    hears: (id) =>
      new Promise((resolve, reject) => {
        waiting.set(id, resolve);
        setTimeout(() => reject(new Error(`${id} was not told`)), 10_000).unref();
      }),
  };
}
