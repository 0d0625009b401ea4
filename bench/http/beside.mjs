import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { startService } from '../lib/service.mjs';
import { formatMillis, formatRatio, goal, markdownTable, none } from '../lib/table.mjs';

const page = '/api/v1/enrichment/records?tenant=T&limit=100';

/** A token that asks over many connections without a pause, and another token beside it that asks for the same. */
export async function benchBeside({ scope, dir, postgres, sizes, say }) {
  const databaseUrl = await postgres.createDatabase(scope, 'bench_beside');
  const service = await startService(scope, { dir, name: 'beside', databaseUrl });
  await storeRecords(service);
  const [greedy, other] = [await makeToken(service), await makeToken(service)];
  const client = createClient(scope, { ...service, token: other });
  await timePages(client, sizes.samples);
  const before = await timePages(client, sizes.samples);
  say(`${sizes.clients} connections of one token`);
  const crowd = startCrowd(scope, { ...service, token: greedy }, sizes.clients);
  scope.defer(() => crowd.stop());
  await crowd.isUp;
  const during = await timePages(client, sizes.samples);
  const perSecond = await crowd.stop();
  const ratio = during.p99 / before.p99;
  const ofBoth = (times) => `${formatMillis(times.p50)} / ${formatMillis(times.p99)}`;
  const table = markdownTable(
    [`${sizes.clients} connections of another`, 'measured', 'goal'],
    [
      ['a page before, p50 / p99', ofBoth(before), none],
      ['a page during, p50 / p99', ofBoth(during), none],
      ['p99 during, to before', formatRatio(ratio), goal('≤ 5', ratio <= 5)],
      ['pages of the other', `${Math.round(perSecond)}/s`, none],
    ],
  );
  return `### Beside a token that takes all it can\n\nPages of 100 records; one client, and another token with many.\n\n${table}`;
}

async function storeRecords({ origin, token }) {
  const records = Array.from({ length: 500 }, (_, n) => ({
    ...{ tenant: 'T', store: 'S', event_id: `e${n}`, occurred_at: '2025-01-01T00:00:00Z' },
    enrichment: { n },
  }));
  await post({ origin, token }, '/enrichment/records', { records });
}

async function makeToken(service) {
  const made = await post(service, '/tokens', { name: 'bench', preset: 'support-readonly' });
  return made.token;
}

async function post({ origin, token }, path, body) {
  const answer = await fetch(`${origin}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function timePages(client, samples) {
  const times = [];
  for (let count = 0; count < samples; count += 1) {
    times.push((await client.get(page)).elapsedMillis);
  }
  return summary(times);
}

/** Each client asks for the next page when it has the last one. */
function startCrowd(scope, service, size) {
  const startedAt = performance.now();
  let count = 0;
  let isStopped = false;
  const clients = Array.from({ length: size }, () => createClient(scope, service));
  const first = clients.map((client) => client.get(page));
  const ended = clients.map(async (client, index) => {
    await first[index];
    while (!isStopped) {
      await client.get(page);
      count += 1;
    }
  });
  return {
    isUp: Promise.all(first),
    /** Returns how many pages it got each second. */
    async stop() {
      isStopped = true;
      await Promise.all(ended);
      return count / ((performance.now() - startedAt) / 1000);
    },
  };
}
