import { Agent, request } from 'node:http';
import { payloadOf } from './payload.mjs';

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
