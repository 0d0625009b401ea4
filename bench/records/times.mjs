import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ingestFile, runRetention } from '../lib/client.mjs';
import { inTurn, mapValues, summary } from '../lib/measure.mjs';
import { coldSettings, startAlone } from '../lib/service.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  markdownTable,
  none,
  section,
} from '../lib/table.mjs';

const tenant = 'many';
const storeName = (n) => `store-${String(n).padStart(5, '0')}`;
/** A store has one record on each day, and this many on the last. */
const perLastDay = 10;

/** Pages of a tenant with many stores by time, against a page of one of its stores, hot and then cold. */
export async function benchTimes({ sizes, say, ...bench }) {
  const size = sizes.times;
  const { client, service, db } = await startAlone(bench, 'times', coldSettings);
  const records = size.stores * (size.days - 1 + perLastDay);
  say(`times: storing ${formatCount(records)} records of ${formatCount(size.stores)} stores`);
  const path = join(bench.dir, 'times.ndjson');
  await pipeline(Readable.from(lines(size)), createWriteStream(path));
  await ingestFile(client, path);
  await db.query('vacuum (analyze) enrichment_records, leaf_days, tenant_days');
  const cells = [];
  for (const tier of ['hot', 'cold']) {
    if (tier === 'cold') await runRetention({ service, client });
    say(`times: ${tier}`);
    const times = await measure(client, size);
    const [store] = Object.values(times);
    for (const [name, { p50, p99 }] of Object.entries(times)) {
      const ratio = name === 'one store' ? none : formatRatio(p50 / store.p50);
      cells.push([`${name}, ${tier}`, formatMillis(p50), formatMillis(p99), ratio]);
    }
  }
  return section(
    `Pages by time: ${formatCount(size.stores)} stores of one tenant`,
    `\`GET /enrichment/records?order=newest\`, 100 records, ${size.requests} requests each, in turn. Each store has a record on each of ${size.days - 1} days, and ${perLastDay} on the last.`,
    markdownTable(['', 'p50:', 'p99:', 'to a page of one store:'], cells),
  );
}

async function measure(client, { requests, days }) {
  const [crowded, sparse] = [dayOf(days), dayOf(Math.ceil(days / 2))];
  const ways = {
    'one store': { store: storeName(0) },
    'the newest': {},
    'amid a crowded day': { start: `${crowded}T12:00:00Z` },
    'amid another day': { start: `${sparse}T12:00:00Z` },
    'the oldest of that day': { start: `${sparse}T12:00:00Z`, order: 'oldest' },
    'with a kind': { start: `${sparse}T12:00:00Z`, kind: 'rare' },
  };
  const asked = mapValues(ways, (more) => async () => {
    const query = new URLSearchParams({ tenant, order: 'newest', limit: '100', ...more });
    const { body, elapsedMillis } = await client.get(`/api/v1/enrichment/records?${query}`);
    if (more.kind === undefined && more.store === undefined && body.data.length !== 100) {
      throw new Error(`a page by time has ${body.data.length} records: ${query}`);
    }
    return elapsedMillis;
  });
  return mapValues(await inTurn(asked, requests, { warmups: 2 }), summary);
}

const dayOf = (n) => `2001-03-${String(n).padStart(2, '0')}`;

function* lines({ stores, days }) {
  for (let day = 1; day <= days; day += 1) {
    for (let n = 0; n < (day === days ? perLastDay : 1); n += 1) {
      let text = '';
      for (let store = 0; store < stores; store += 1) {
        // Spread over the day, in no order that the stores have.
        const micros = ((store * 7919 + n * 104_729) % 864_000) * 100_000 + n;
        const at = new Date(Math.floor(micros / 1000)).toISOString().slice(11, 19);
        text += `${JSON.stringify({
          tenant,
          store: storeName(store),
          event_id: `ev-${day}-${n}`,
          occurred_at: `${dayOf(day)}T${at}.${String(micros % 1_000_000).padStart(6, '0')}Z`,
          kind: store % 997 === 0 ? 'rare' : 'usual',
          enrichment: { score: ((store * 31 + n) % 1000) / 1000, note: `of ${storeName(store)}` },
        })}\n`;
      }
      yield text;
    }
  }
}
