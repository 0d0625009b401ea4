import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../lib/wait.mjs';

const tenants = ['AK', 'CA', 'NY', 'TX'];
const clients = { ingest: 3, reads: 3, incidents: 3, exports: 1 };
const batch = 10;
const pauseMillis = 30;
/** The records of the tenant that is exported, and that nobody adds to. */
const exportedRecords = 500;

/**
 * Clients that store, read, report and export through the proxy, one request after the other. What fails is counted,
 * and sent again until it is answered.
 */
export async function startLoad({ origin, token }) {
  const counts = { ingest: 0, reads: 0, incidents: 0, exports: 0 };
  const failures = [];
  let number = 0;
  let isRunning = true;

  const ask = (method, path, body) =>
    fetch(`${origin}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
  const answered = async (response, status) => {
    const text = await response.text();
    if (response.status !== status) throw new Error(`${response.status} ${text.slice(0, 200)}`);
    return text;
  };
  const ingest = async (tenant, from, count) => {
    const records = Array.from({ length: count }, (_, at) => makeRecord(tenant, from + at));
    const text = await answered(await ask('POST', '/enrichment/records', { records }), 200);
    const { accepted, duplicates } = JSON.parse(text);
    if (accepted + duplicates !== count) throw new Error(text);
  };
  const kinds = {
    ingest: (n) => ingest(tenants[n % tenants.length], n * batch, batch),
    async reads(n) {
      const tenant = tenants[n % tenants.length];
      const path =
        n % 2 === 0
          ? '/enrichment/datasets?level=tenant'
          : `/enrichment/records?tenant=${tenant}&limit=20`;
      JSON.parse(await answered(await ask('GET', path), 200));
    },
    async incidents(n) {
      const tenant = tenants[n % tenants.length];
      const incident = { tenant, type: 'incident.created', idempotency_key: `rolling-${n}` };
      await answered(await ask('POST', '/incidents', { ...incident, data: { n } }), 202);
    },
    async exports() {
      const text = await answered(await ask('POST', '/exports/csv', { tenant: 'fixed' }), 200);
      const lines = text.split('\n').length - 2;
      if (lines !== exportedRecords) throw new Error(`${lines} rows of ${exportedRecords}`);
    },
  };
  const insist = async (kind, n) => {
    for (;;) {
      counts[kind] += 1;
      try {
        return await kinds[kind](n);
      } catch (error) {
        failures.push(`${kind}: ${error.cause?.message ?? error.message}`);
        await delay(20);
      }
    }
  };
  await ingest('fixed', 0, exportedRecords);
  const sent = { ingest: 0, incidents: 0 };
  const running = Object.entries(clients).flatMap(([kind, count]) =>
    Array.from({ length: count }, async () => {
      while (isRunning) {
        number += 1;
        await insist(kind, number);
        if (kind in sent) sent[kind] += 1;
        await delay(pauseMillis);
      }
    }),
  );
  const requests = () => Object.values(counts).reduce((sum, count) => sum + count);
  return {
    counts,
    failures,
    requests,
    /** What must be stored in the end. */
    stored: () => ({ records: exportedRecords + sent.ingest * batch, incidents: sent.incidents }),
    reaches: (goal) => until(`${goal} requests`, () => requests() >= goal, 600_000),
    async stop() {
      isRunning = false;
      await Promise.all(running);
    },
  };
}

/** After so many records the load goes on in a month that has none yet, at all processes at the same time. */
const recordsOfMonth = 200;
/** Thirty years. */
const months = 360;

function makeRecord(tenant, n) {
  const month = Math.floor(n / recordsOfMonth) % months;
  return {
    tenant,
    store: `store-${n % 3}`,
    event_id: `e-${n}`,
    occurred_at: new Date(Date.UTC(1981, month) + (n % 86_400) * 1000).toISOString(),
    enrichment: { n },
  };
}
