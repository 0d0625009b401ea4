import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { listen } from '../../bench/lib/listen.mjs';
import { until } from '../world.mjs';

const tenant = 'NY';
/** Enough for a part that is copied, over days of two months, on which day and month can be mistaken. */
const records = Array.from({ length: 1200 }, (_, n) => ({
  tenant,
  store: `s${n % 3}`,
  event_id: `e${String(n).padStart(4, '0')}`,
  occurred_at: new Date(Date.UTC(2024, n % 2, 1 + (n % 12), n % 24, n % 60)).toISOString(),
  kind: 'order',
  confidence: 0.1 + n / 10_000,
  enrichment: { n, text: 'é "x"' },
}));

/** Uses whatever the service can do with dates, locks, COPY and notifications, and answers what it showed. */
export async function useEverything(scope, { origin, token }) {
  /** @type {(method: string, path: string, body?: any, headers?: any) => Promise<any>} */
  const insist = async (method, path, body, headers = {}) => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  const settle = (path, id) =>
    until(path, async () => {
      const row = await insist('GET', `${path}/${id}`);
      return row.finished_at === null ? null : row;
    });

  await insist('POST', '/enrichment/records', { records: records.slice(0, 1) });
  await insist('POST', '/enrichment/records', { records });
  await insist('POST', '/enrichment/tags', {
    tenant,
    dataset: 'training',
    from: '2024-02-01',
    to: '2024-02-09',
  });
  const version = await insist('POST', '/enrichment/dataset-versions', {
    tenant,
    dataset: 'training',
    name: 'v1',
  });
  const run = await insist('POST', '/retention/run', { tenant, before: '2024-02-05' });
  const { state: runState } = await settle('/retention/runs', run.id);
  // These days are cold by now.
  const late = { ...records[0], event_id: 'late' };
  await insist('POST', '/enrichment/records', { records: [late, ...records.slice(0, 50)] });
  const prefer = { prefer: 'respond-async' };
  const asked = await insist(
    'POST',
    '/exports/csv',
    { tenant, version: version.id, columns: ['occurred_at', 'confidence', 'month'] },
    prefer,
  );
  const job = await settle('/exports', asked.id);
  const verification = await insist('POST', '/retention/verify', {});
  const verified = await settle('/retention/verify', verification.id);
  return {
    runState,
    job: [job.state, job.rows_total, job.sha256],
    problems: verified.problem_count,
    verified: verified.records_done,
    tree: withoutTimes(
      await insist('GET', `/enrichment/datasets?tenant=${tenant}&include=days&limit=500`),
    ),
    page: withoutTimes(await insist('GET', `/enrichment/records?tenant=${tenant}&limit=500`)),
    version: withoutTimes(await insist('GET', `/enrichment/dataset-versions/${version.id}`)),
    file: await exportFile({ origin, token }),
    delivered: await deliver(scope, insist),
  };
}

/** What differs from one installation to the next: ids, and the times at which something was done. */
function withoutTimes(value) {
  const text = JSON.stringify(value, (name, member) =>
    /^(id|.*_id|recorded_(at|before)|created_at|changed_at|.*cursor|stored_bytes|created_by)$/.test(
      name,
    ) && name !== 'event_id'
      ? undefined
      : member,
  );
  return createHash('sha256').update(text).digest('hex');
}

/** NDJSON has each record as it was sent. */
async function exportFile({ origin, token }) {
  const response = await fetch(`${origin}/api/v1/exports/ndjson`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant }),
    signal: AbortSignal.timeout(30_000),
  });
  return [
    response.status,
    createHash('sha256')
      .update(await response.text())
      .digest('hex'),
  ];
}

/** An incident reaches a receiver. */
async function deliver(scope, insist) {
  let received = 0;
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => {
      received += 1;
      response.writeHead(204).end();
    });
  });
  const url = await listen(receiver);
  scope.defer(() => new Promise((resolve) => receiver.close(resolve)));
  await insist('POST', '/webhook/endpoints', { tenant, url });
  await insist('POST', '/incidents', { tenant, type: 'incident.created', data: {} });
  await until('a webhook', () => received > 0);
  return received;
}
