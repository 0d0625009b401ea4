import fc from 'fast-check';
import { isSigned } from '../receiver.mjs';
import { tenant } from '../values.mjs';
import { call, until } from '../world.mjs';
import { isAnswer, via } from './records.mjs';
import { endpoints, ofOne, pathOf, register } from './webhooks.mjs';

const polled = (world) => endpoints(world).filter(({ poll }) => poll !== null);
/** As much as one answer holds, less the largest payload. */
const fullBytes = 4 * 1024 * 1024 - 300_000;

export const pollCommands = [
  {
    name: 'register an endpoint that is polled',
    weight: 1,
    draw: fc.record({ via, tenant }),
    play: (world, { via: through, tenant: own }) =>
      register(world, through, { tenant: own, behaviour: 'polled' }),
  },
  ofOne(polled, 'poll an endpoint', 8, pollOnce, {
    // With which cursor: the newest, one from before, or none.
    back: fc.constantFrom(0, 0, 0, 1, 3, Infinity),
    limit: fc.constantFrom(1, 5, 100, 500),
    wait: fc.constantFrom(0, 0, 0, 1),
    patienceMillis: fc.constantFrom(null, null, null, 5, 30),
  }),
];

/** Polls an endpoint once, and acknowledges what came before. Answers what came; undefined when nobody knows. */
async function pollOnce(world, endpoint, { via: through, back, limit, wait, patienceMillis }) {
  const { poll, tenant: own, id } = endpoint;
  const after = poll.cursors.at(-1 - back);
  const query = new URLSearchParams({ limit: String(limit), wait: String(wait) });
  if (after !== undefined) query.set('after', after);
  const waiting = [...world.webhooks.deliveries.values()].filter((one) => one.endpointId === id);
  const begun = poll.begin(after);
  const options = { via: through, ...(patienceMillis && { timeoutMillis: patienceMillis }) };
  const answer = await call(world, 'GET', `${pathOf(endpoint)}/deliveries/poll?${query}`, options);
  if (answer.status === 0 && patienceMillis !== null) return undefined;
  if (!isAnswer(world, answer, 'poll', [200, 404, 409]) || answer.status !== 200) return undefined;
  const { data } = answer.json;
  const bytes = data.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const isFull = data.length >= limit || bytes > fullBytes;
  const due = isFull ? null : waiting.filter(({ mayGo }) => !mayGo).map((one) => one.id);
  for (const fault of poll.end(begun, answer.json, due)) world.say(`a poll of ${id}: ${fault}`);
  for (const { id: delivery, headers, body } of data) {
    const { areSecretsKnown, secrets } = endpoint;
    if (areSecretsKnown && !isSigned(headers, body, secrets))
      world.say(`${delivery} of ${own} is not signed by a secret of its endpoint`);
  }
  return data;
}

/** Fetches and acknowledges all that waits for endpoints that are polled. */
export async function fetchAll(world) {
  for (const endpoint of polled(world)) {
    if (endpoint.isUnsure) continue;
    const how = { via: 0, back: 0, limit: 500, wait: 0, patienceMillis: null };
    await call(world, 'PATCH', pathOf(endpoint), { body: { enabled: true } });
    let left = Infinity;
    await until(
      `all to be fetched of ${endpoint.id}`,
      async () => {
        left = (await pollOnce(world, endpoint, how))?.length ?? left;
        return left === 0;
      },
      60_000,
      () => String(endpoint.poll.cursors.at(-1)),
    );
  }
}
