import { readIncidents } from './data.mjs';
import { startDemoReceiver } from './receiver.mjs';

const examples = readIncidents();

const burst = 200;
const clients = 8;
const trickleMillis = 4000;

/** The retry schedules are short, so that a minute or two shows what otherwise takes hours. */
const endpoints = [
  { tenant: 'TX', path: '/well', description: 'Demo: well' },
  {
    tenant: 'TX',
    path: '/fails',
    description: 'Demo: always 500, one attempt each',
    max_attempts: 1,
  },
  {
    tenant: 'CA',
    path: '/well',
    description: 'Demo: well, incidents only',
    event_types: incidentTypes(),
  },
  {
    tenant: 'CA',
    path: '/hangs',
    description: 'Demo: never answers',
    retry_schedule: [10],
    max_attempts: 3,
  },
  {
    tenant: 'FL',
    path: '/recovers',
    description: 'Demo: down for a minute, then well',
    retry_schedule: [5, 10, 20],
    max_attempts: 20,
  },
  { tenant: 'NY', path: '/gone', description: 'Demo: answers 410' },
  {
    tenant: 'IL',
    path: '/limited',
    description: 'Demo: two a second, then 429 with Retry-After',
    retry_schedule: [2],
    max_attempts: 30,
  },
  { tenant: 'GA', path: '/slow', description: 'Demo: slow', rate_limit: 5 },
];

/**
 * Registers endpoints that succeed, fail and recover, and reports real payloads to them: many at once,
 * then one every few seconds until the signal aborts. Resolves after the first part.
 */
export async function startDemoWebhooks(service, signal) {
  const receiver = await startDemoReceiver();
  onAbort(signal, () => receiver.close());
  await registerEndpoints(service, receiver);
  const tenants = [...new Set(endpoints.map(({ tenant }) => tenant))];
  const incidents = incidentsWithoutEnd(tenants);
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let n = 0; n < burst / clients && !signal.aborted; n += 1) {
        await call(service, 'POST', '/incidents', incidents.next().value);
      }
    }),
  );
  const timer = setInterval(() => {
    // If the service is away for a moment, this incident is lost to the demo; the next one comes soon.
    call(service, 'POST', '/incidents', incidents.next().value).catch(() => {});
  }, trickleMillis);
  onAbort(signal, () => clearInterval(timer));
  return { count: burst };
}

/** Calls `work` when the signal aborts, or at once if it has aborted already. */
function onAbort(signal, work) {
  if (signal.aborted) work();
  else signal.addEventListener('abort', work, { once: true });
}

/** Registers the endpoints. Those that an earlier run registered are only told where the receiver is now. */
async function registerEndpoints(service, receiver) {
  const { data } = await call(service, 'GET', '/webhook/endpoints?limit=500');
  for (const { path, ...wanted } of endpoints) {
    const url = receiver.url(path);
    const known = data.find(({ description }) => description === wanted.description);
    if (known === undefined) await call(service, 'POST', '/webhook/endpoints', { ...wanted, url });
    else await call(service, 'PATCH', `/webhook/endpoints/${known.id}`, { url });
  }
}

/** Yields incidents without end, with payloads that GitHub sends, one kind after the other. */
function* incidentsWithoutEnd(tenants) {
  for (let n = 0; ; n += 1) {
    const { name, examples: payloads } = examples[n % examples.length];
    const data = payloads[Math.floor(n / examples.length) % payloads.length];
    yield { tenant: tenants[n % tenants.length], type: typeOf(name, data.action), data };
  }
}

function typeOf(name, action) {
  if (action === undefined) return `github.${name}`;
  if (/^(opened|created|added|published|requested)$/.test(action)) return 'incident.created';
  if (/^(closed|completed|deleted|removed|resolved|fixed)$/.test(action))
    return 'incident.resolved';
  return 'incident.updated';
}

function incidentTypes() {
  return ['incident.created', 'incident.updated', 'incident.resolved'];
}

export async function call({ url, token }, method, path, body) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (response.status === 204) return undefined;
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.detail} (${answer.status} ${answer.code})`);
  return answer;
}
