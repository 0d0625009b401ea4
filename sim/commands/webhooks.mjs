import fc from 'fast-check';
import { PollModel } from '../poll-model.mjs';
import { behaviours } from '../receiver.mjs';
import { incident, tenant, tenants, traitsOf, wanted, wheres } from '../values.mjs';
import { copyPrefix } from '../webhook-model.mjs';
import { call, outcomeOf, until } from '../world.mjs';
import { ask, isAnswer, via } from './records.mjs';

/** One of those that there are, by its place. */
const at = fc.nat(1000);

/** A command on one of those that are there; it does nothing where none is. */
export const ofOne = (find, name, weight, play, drawn = {}) => ({
  name,
  weight,
  draw: fc.record({ via, at, ...drawn }),
  async play(world, { at: place, ...more }) {
    const list = find(world);
    if (list.length > 0) await play(world, list[place % list.length], more);
  },
});

export const endpoints = ({ webhooks }) =>
  [...webhooks.endpoints.values()].filter(({ isDeleted }) => !isDeleted);
const deliveries = ({ webhooks }) => [...webhooks.deliveries.values()];
const incidents = ({ webhooks }) => [...webhooks.incidents.values()];
const answeredIncidents = (world) => incidents(world).filter(({ answer }) => answer !== undefined);

export const webhookCommands = [
  {
    name: 'register an endpoint',
    weight: 2,
    draw: fc.record({
      ...{ via, tenant, wanted, behaviour: fc.constantFrom(...behaviours) },
      maxAttempts: fc.constantFrom(2, 8),
      ordered: fc.constantFrom('none', 'none', 'group', 'store'),
      whenStuck: fc.constantFrom('block', 'pass'),
    }),
    play: (world, { via: through, ...made }) => register(world, through, made),
  },
  {
    name: 'report incidents',
    weight: 10,
    draw: fc.record({ via, incident, count: fc.constantFrom(1, 1, 1, 5, 40) }),
    async play(world, { via: through, incident: drawn, count }) {
      // The same draw is the same incident again, and a key belongs to one tenant and one body.
      const { tenant: own, type, size, number } = drawn;
      const key = `${number}-${tenants.indexOf(own)}-${type}-${size}`;
      const reportOne = (n) =>
        report(world, through, {
          ...traitsOf(number),
          tenant: own,
          type,
          size,
          key: `${key}-${n}`,
        });
      await Promise.all(Array.from({ length: count }, (_, n) => reportOne(n)));
    },
  },
  ofOne(incidents, 'report an incident again', 2, (world, known, { via: through }) =>
    report(world, through, known),
  ),
  ofOne(
    endpoints,
    'enable or disable an endpoint',
    2,
    async (world, endpoint, { via: through, isEnabled }) => {
      endpoint.changedAt = Math.max(endpoint.changedAt, world.webhooks.now());
      const options = { body: { enabled: isEnabled }, via: through };
      await ask(world, 'change', [200, 404], 'PATCH', pathOf(endpoint), options);
    },
    { isEnabled: fc.boolean() },
  ),
  ofOne(
    endpoints,
    'change what an endpoint wants',
    1,
    async (world, endpoint, { via: through, wanted: next }) => {
      // Of two changes at once nobody knows which one holds in the end.
      if (endpoint.changedAt === Infinity) return;
      endpoint.past.push(endpoint.wanted);
      // Nobody knows which of the two holds until it is answered.
      endpoint.changedAt = Infinity;
      endpoint.subscribedAt = Infinity;
      const body = bodyOfWanted(next);
      let answer;
      let isLost = false;
      // What was lost may have been done: a process that is down or busy at the next try does not say that it was not.
      const change = async () => {
        answer = await call(world, 'PATCH', pathOf(endpoint), { body, via: through });
        const outcome = outcomeOf(answer);
        isLost ||= outcome === 'lost';
        return outcome === 'done' || answer.status === 404 || (outcome === 'refused' && !isLost);
      };
      await until(`a change of ${endpoint.id} to be answered`, change);
      endpoint.past.push(next);
      if (outcomeOf(answer) === 'done') endpoint.wanted = next;
      endpoint.madeUpTo = -Infinity;
      endpoint.changedAt = world.webhooks.now();
      endpoint.subscribedAt = endpoint.changedAt;
      isAnswer(world, answer, 'change', [200, 404]);
    },
    { wanted },
  ),
  ofOne(
    endpoints,
    'discard a backlog while incidents come in',
    1,
    async (world, endpoint, { via: through, number }) => {
      const path = pathOf(endpoint);
      await call(world, 'PATCH', path, { body: { enabled: false }, via: through });
      await lengthenBacklog(world, endpoint);
      // What is reported once this is answered is delivered; before, and while it is under way, it may go.
      const mine = world.webhooks.beginDiscard(endpoint.id);
      const answer = await call(world, 'POST', `${path}/discard-backlog`, { via: through });
      if (outcomeOf(answer) !== 'lost') world.webhooks.end(mine);
      const { tenant: own } = endpoint;
      const { types } = endpoint.wanted;
      const type = types[0].endsWith('*') ? 'incident.created' : types[0];
      const one = (n) => {
        const key = `late-${endpoint.path}-${number}-${n}`;
        return report(world, through, { ...traitsOf(number + n), tenant: own, type, size: 0, key });
      };
      await Promise.all(Array.from({ length: 5 }, (_, n) => one(n)));
      isAnswer(world, answer, 'discard', [200, 404, 409]);
    },
    { number: fc.nat(1_000_000) },
  ),
  ofOne(endpoints, 'rotate a secret', 1, async (world, endpoint, { via: through }) => {
    // Until its answer says the new secret, nothing that it signs can be told from what is not signed.
    const { areSecretsKnown } = endpoint;
    endpoint.areSecretsKnown = false;
    const path = `${pathOf(endpoint)}/rotate-secret`;
    const answer = await call(world, 'POST', path, { via: through });
    if (answer.status === 200) endpoint.secrets.push(answer.json.secret);
    const outcome = outcomeOf(answer);
    if (outcome !== 'lost') endpoint.areSecretsKnown = outcome === 'done' || areSecretsKnown;
    isAnswer(world, answer, 'rotation', [200, 404]);
  }),
  ofOne(endpoints, 'ping an endpoint', 1, (world, endpoint, { via: through }) =>
    ask(world, 'ping', [202, 404, 409], 'POST', `${pathOf(endpoint)}/ping`, { via: through }),
  ),
  ofOne(endpoints, 'delete an endpoint', 1, async (world, endpoint, { via: through }) => {
    if (endpoints(world).length < 3) return;
    endpoint.isDeleted = true;
    // Nobody knows when it happens until it is answered.
    endpoint.changedAt = Infinity;
    world.webhooks.letGo((delivery) => delivery.endpointId === endpoint.id);
    const answer = await call(world, 'DELETE', pathOf(endpoint), { via: through });
    if (outcomeOf(answer) === 'refused' && answer.status !== 404) endpoint.isDeleted = false;
    endpoint.isUnsure = outcomeOf(answer) === 'lost';
    endpoint.changedAt = world.webhooks.now();
  }),
  {
    name: 'read the dead letters',
    weight: 3,
    draw: fc.record({ via, status: fc.constantFrom('pending', 'abandoned') }),
    async play(world, { via: through, status }) {
      const look = (what, path) =>
        ask(world, what, [200], 'GET', `/webhook/dlq${path}?status=${status}`, { via: through });
      const answer = await look('dead letters', '');
      if (answer === undefined) return;
      const { data, total } = answer.json;
      if (total < data.length) world.say(`${data.length} dead letters of ${total}`);
      for (const row of data) {
        const isTold = row.status === status && (status !== 'abandoned' || row.next_retry === null);
        if (!isTold) world.say(`a ${status} row says ${JSON.stringify(row)}`);
      }
      await look('groups', '/groups');
    },
  },
  ofOne(deliveries, 'retry a delivery', 3, async (world, delivery, { via: through }) => {
    delivery.retries += 1;
    const path = `/webhook/dlq/${delivery.id}/retry`;
    await ask(world, 'retry', [202, 404, 409], 'POST', path, { via: through });
  }),
  ofOne(
    // Of few, so that several look at the same.
    (world) => deliveries(world).slice(-6),
    'look at a delivery',
    4,
    async (world, delivery, { via: through }) => {
      const from = performance.now();
      const path = `/webhook/dlq/${delivery.id}`;
      const answer = await ask(world, 'delivery', [200], 'GET', path, { via: through });
      if (answer !== undefined) observe(world, answer.json, from);
    },
    { at: fc.nat(5) },
  ),
  {
    name: 'retry in bulk',
    weight: 2,
    draw: fc.record({
      via,
      status: fc.constantFrom('pending', 'abandoned', undefined),
      rate: fc.constantFrom(undefined, 20),
    }),
    async play(world, { via: through, status, rate }) {
      const body = { ...(status && { status }), ...(rate && { rate }) };
      const mine = world.webhooks.beginRetry(() => true);
      const options = { body, via: through };
      const path = '/webhook/dlq/retry';
      const answer = await ask(world, 'bulk retry', [202, 409], 'POST', path, options);
      if (answer !== undefined) world.webhooks.end(mine);
      // It waits for endpoints that are disabled, so it need not end by itself.
      if (answer?.status === 202) world.retries.push(answer.json.id);
    },
  },
  ofOne(deliveries, 'purge a delivery', 1, async (world, delivery, { via: through }) => {
    delivery.mayGo = true;
    delivery.incident.mayBePurged = true;
    const path = `/webhook/dlq/${delivery.id}`;
    await ask(world, 'purge', [204, 404, 409], 'DELETE', path, { via: through });
  }),
  ofOne(answeredIncidents, 'erase an incident', 1, async (world, erased, { via: through }) => {
    world.webhooks.letGo((delivery) => delivery.incident === erased);
    erased.mayBeErased = true;
    const path = `/incidents/${erased.answer.id}/erase`;
    const answer = await call(world, 'POST', path, { via: through });
    if (answer.status === 200) world.erased.set(erased.marker, { content: null, at: Date.now() });
    isAnswer(world, answer, 'erasure of an incident', [200, 404, 409]);
  }),
];

export const pathOf = ({ id }) => `/webhook/endpoints/${id}`;

/** Notes what was seen of a delivery: attempts are only ever added, and what ended stays so. */
function observe(world, { id, status, attempts }, from) {
  const span = { from, to: performance.now() };
  const what = `${status} after ${attempts} attempts`;
  world.observed.push({ key: `attempts of ${id}`, ...span, what, value: attempts });
  const isOver = ['delivered', 'discarded'].includes(status);
  world.observed.push({ key: `end of ${id}`, ...span, what, value: isOver ? 1 : 0 });
}

const bodyOfWanted = ({ types, stores, where }) => ({
  ...{ event_types: types, stores, where: wheres[where].text },
});

/** Wants everything of its tenant, in no order. */
const usual = { wanted: { types: ['*'], stores: null, where: 0 }, ordered: 'none', maxAttempts: 8 };

/**
 * Registers an endpoint with a path of its own, or one that is polled. A registration that is lost leaves one that nobody
 * names.
 */
export async function register(world, via, given) {
  const { webhooks } = world;
  const {
    tenant,
    behaviour,
    wanted: own,
    ordered,
    whenStuck,
    maxAttempts,
  } = { ...usual, ...given };
  const path = `/${behaviour}/${webhooks.now()}`;
  const isPolled = behaviour === 'polled';
  const sending = {
    ...{ url: world.receiver.url(path), max_attempts: maxAttempts, retry_schedule: [1, 2] },
    ...(ordered !== 'none' && { ordered, when_stuck: whenStuck }),
  };
  // Only a change can say null, which takes away what was there.
  const chosen = Object.entries(bodyOfWanted(own)).filter(([, value]) => value !== null);
  const body = {
    tenant,
    ...Object.fromEntries(chosen),
    ...(isPolled ? { type: 'pull' } : sending),
  };
  const answer = await call(world, 'POST', '/webhook/endpoints', { body, via });
  if (answer.status === 201) {
    const { id, secret } = answer.json;
    const isNew = { isDeleted: false, areSecretsKnown: true, changedAt: webhooks.now() };
    const unchanged = { wanted: own, past: [], madeUpTo: -Infinity, subscribedAt: webhooks.now() };
    const poll = isPolled ? new PollModel() : null;
    webhooks.endpoints.set(id, {
      ...{ id, tenant, path, ordered, secrets: [secret], poll, ...isNew, ...unchanged },
    });
  } else if (outcomeOf(answer) !== 'lost') isAnswer(world, answer, 'registration', [409]);
}

/** Reports an incident, or one again under its key. */
export async function report(world, via, made) {
  const { webhooks } = world;
  const { key } = made;
  const known = webhooks.incidents.get(key) ?? {
    ...{ ...made, marker: `mki${key}x`, isRepeated: false },
  };
  if (webhooks.incidents.has(key)) known.isRepeated = true;
  webhooks.incidents.set(key, known);
  const startedAt = webhooks.now();
  known.startedAt ??= startedAt;
  const { tenant: own, type, size, marker, score, store, group } = known;
  const body = {
    ...{ tenant: own, type, store, group, idempotency_key: key },
    data: { marker, score, pad: 'x'.repeat(size) },
  };
  const answer = await call(world, 'POST', '/incidents', { body, via });
  if (answer.status === 202) world.faults.push(...webhooks.accept(known, answer.json, startedAt));
  else isAnswer(world, answer, 'report', []);
}

/** So many rows that a job discards them: copies of a row of the endpoint, which no incident of the model has. */
async function lengthenBacklog(world, { id }) {
  await world
    .rows(
      `insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key, max_attempts)
       select lane, left(id, 13) || substr(md5(id || n || random()), 1, 11), incident_id, endpoint_id, tenant, event_type,
         target, '${copyPrefix}' || md5(id || n || random()), max_attempts
       from (select * from deliveries where endpoint_id = $1 limit 1) as one, generate_series(1, 6000) as n`,
      [id],
    )
    // The database may be away just now: then the backlog is as short as it is.
    .catch(() => {});
}
