import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startScript } from '../lib/bare.mjs';
import { call } from '../lib/client.mjs';
import { bodyOf, serve } from '../lib/listen.mjs';
import { startAlone, startService } from '../lib/service.mjs';
import { payloadOf } from './payload.mjs';

/** What a service needs to send to this machine. */
export const sendingSettings = { SVC_ALLOW_TARGETS: '127.0.0.0/8' };

/** A service with these roles on a database of its own, ready to send to this machine. */
export async function startWorld(bench, name, roles = 'api,drainer') {
  const settings = { ...sendingSettings, SVC_ROLES: roles };
  const { service, ...made } = await startAlone(bench, name, settings);
  return {
    ...{ ...service, ...made },
    call: (/** @type {[string, string, object?]} */ ...asked) => call(service, ...asked),
    addEndpoint: (tenant, url, more = {}) => addEndpoint(service, tenant, url, more),
  };
}

export const addEndpoint = (service, tenant, url, more = {}) =>
  call(service, 'POST', '/webhook/endpoints', { tenant, url, ...more });

/** A drainer on the database of a service that has its token. */
export function startDrainer(scope, { dir, name, databaseUrl, token }) {
  const settings = { ...sendingSettings, SVC_ROLES: 'drainer' };
  return startService(scope, { dir, name, databaseUrl, token, settings });
}

/** The receiver as a process of its own. */
export async function startReceiverProcess(scope) {
  const script = fileURLToPath(new URL('receiver.mjs', import.meta.url));
  const { origin: url } = await startScript(scope, [script]);
  const ask = async (method) => (await fetch(`${url}/stats`, { method })).json();
  return { url, stats: () => ask('GET'), reset: () => ask('DELETE') };
}

/** Each request once: how many came in a second. */
export function receivedRate({ count, distinct, elapsedMillis }, wanted) {
  if (count !== wanted || distinct !== wanted) {
    throw new Error(`${count} requests with ${distinct} ids came, not ${wanted}`);
  }
  return (count / elapsedMillis) * 1000;
}

/**
 * A receiver in this process, so that sending and receiving are read off one clock. `arrivalOf(key)`
 * resolves to the moment a webhook came; the key is `data.key` of its payload.
 */
export async function startArrivals(scope) {
  const arrived = new Map();
  const waiting = new Map();
  let [status, keyless] = [204, 0];
  const url = await serve(scope, async (request, response) => {
    const text = await bodyOf(request);
    const at = performance.now();
    response.writeHead(status, { connection: 'keep-alive' }).end();
    const { key } = JSON.parse(text).data;
    if (key === undefined) keyless += 1;
    if (!arrived.has(key)) arrived.set(key, at);
    waiting.get(key)?.(at);
  });
  return {
    url,
    answer(next) {
      status = next;
    },
    /** How many webhooks without a key came. */
    keyless: () => keyless,
    forget: (key) => arrived.delete(key),
    arrivalOf: (key) =>
      arrived.has(key)
        ? Promise.resolve(arrived.get(key))
        : new Promise((resolve) => waiting.set(key, resolve)),
  };
}

let runs = 0;

/**
 * Reports incidents at a steady rate, whether or not earlier ones were answered; tenants take turns.
 * Answers the milliseconds from the moment each was due to be sent to the moment its webhook came.
 */
export async function openLoop({ world, arrivals, tenants, perSecond, seconds }) {
  runs += 1;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const stepMillis = 1000 / perSecond;
  const total = perSecond * seconds;
  const startedAt = performance.now();
  const pending = [];
  for (let n = 0; n < total; n += 1) {
    const dueAt = startedAt + n * stepMillis;
    const wait = dueAt - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    pending.push(sendOne(n, dueAt));
  }
  const times = await Promise.all(pending);
  agent.destroy();
  return times;

  async function sendOne(n, dueAt) {
    const key = `run-${runs}-${n}`;
    const came = arrivals.arrivalOf(key);
    await post(world, agent, { tenant: tenants[n % tenants.length], key, number: n });
    return (await came) - dueAt;
  }
}

/** Reports one incident; resolves when it is accepted. */
export function post({ origin, token }, agent, { tenant, key, number }) {
  const { type, data } = payloadOf(number);
  const body = JSON.stringify({ tenant, type, data: { key, ...data } });
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}/api/v1/incidents`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    asked.once('error', reject);
    asked.once('response', (response) => {
      response.resume();
      response.once('end', () => {
        if (response.statusCode === 202) resolve(performance.now());
        else reject(new Error(`POST /incidents: ${response.statusCode}`));
      });
    });
    asked.end(body);
  });
}

/**
 * Deliveries of an endpoint, put straight into the tables as the service would have left them; their
 * numbers begin after `offset`.
 */
export async function seedDeliveries(client, endpointId, count, options = {}) {
  const { status = 'queued', failureClass = 'status', ageSeconds = 3600, offset = 0 } = options;
  const isDue = status === 'queued';
  const body = JSON.stringify(payloadOf(1));
  await client.query(
    `with endpoint as (select * from webhook_endpoints where id = $1),
    numbers as (select n from generate_series($8::int + 1, $8::int + $2::int) as n),
    made as (
      insert into incidents (id, tenant, type, occurred_at, body)
      select 'inc_' || right(endpoint.id, 6) || '_' || n, tenant, 'incident.created', now(),
        replace($3, '"number":1,', '"number":' || n || ',')
      from endpoint, numbers
    )
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target,
      idempotency_key, status, attempts, max_attempts, next_attempt_at, last_status, failure_class, error,
      created_at, last_attempt_at, finished_at)
    select lane, 'dlv_' || lpad(lane::text, 2, '0') || lpad(right(endpoint.id, 6) || lpad(n::text, 9, '0'), 18, '0'),
      'inc_' || right(endpoint.id, 6) || '_' || n, endpoint.id, tenant, 'incident.created', url,
      'msg_' || right(endpoint.id, 6) || lpad(n::text, 10, '0'), $4::text,
      case when $5 then 0 else 8 end, 8, case when $5 then now() end,
      case when $5 then null else 500 end, case when $5 then null else $6::text end,
      case when $5 then null else '500 Internal Server Error' end,
      now() - interval '1 day',
      case when $5 then null else now() - make_interval(secs => $7::float8 * n / ($8::int + $2::int)) end,
      case when $5 then null else now() end
    from endpoint, numbers`,
    [endpointId, count, body, status, isDue, failureClass, ageSeconds, offset],
  );
  if (!isDue) {
    await client.query(
      `insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
      select id, $2, $3, tenant, $4 from webhook_endpoints where id = $1
      on conflict (endpoint_id, status, failure_class) do update set count = dead_letter_counts.count + $4`,
      [endpointId, status, failureClass, count],
    );
  }
}

export async function settle(client) {
  await client.query('vacuum (analyze) deliveries');
  await client.query('vacuum (analyze) incidents');
}
