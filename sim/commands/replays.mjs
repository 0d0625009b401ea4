import fc from 'fast-check';
import { tenant } from '../values.mjs';
import { call, outcomeOf, until } from '../world.mjs';
import { fetchAll } from './polls.mjs';
import { ask, isAnswer, via } from './records.mjs';
import { endpoints, ofOne, pathOf } from './webhooks.mjs';

/** Before any history. */
const ever = '2020-01-01T00:00:00Z';

const openReplays = ({ replays }) => replays.filter(({ isOver }) => !isOver);
const ordered = (world) => endpoints(world).filter((endpoint) => endpoint.ordered !== 'none');

export const replayCommands = [
  ofOne(endpoints, 'replay to an endpoint', 4, replay, {
    only: fc.constantFrom('missed', 'missed', 'failed', 'delivered', 'all'),
    ids: fc.constantFrom('new', 'same'),
    rate: fc.constantFrom(undefined, undefined, 20),
    // All that was ever reported, or what was reported lately.
    lastMillis: fc.constantFrom(null, null, 2000, 20_000),
  }),
  ofOne(
    openReplays,
    'pause, pace, resume or cancel a replay to an endpoint',
    3,
    async (world, open, { via: through, how }) => {
      if (how === 'cancel') {
        open.mayBeCancelled = true;
        const path = `/jobs/${open.id}/cancel`;
        return ask(world, 'cancel', [200, 202, 409], 'POST', path, { via: through });
      }
      const body = { running: { state: 'running', rate: null }, paused: { state: 'paused' } }[how];
      const options = { body: body ?? { rate: 50 }, via: through };
      return ask(world, 'change', [200, 409], 'PATCH', `/webhook/replays/${open.id}`, options);
    },
    { how: fc.constantFrom('cancel', 'paused', 'running', 'rate') },
  ),
  {
    name: 'purge dead letters in bulk',
    weight: 1,
    draw: fc.record({
      ...{ via, tenant, status: fc.constantFrom('pending', 'abandoned', undefined) },
      rate: fc.constantFrom(undefined, 20),
    }),
    async play(world, { via: through, tenant: own, status, rate }) {
      const mine = world.webhooks.beginPurge(({ incident }) => incident.tenant === own);
      const chosen = { tenant: own, ...(status && { status }) };
      const options = { body: { ...chosen, ...(rate && { rate }) }, via: through };
      const answer = await ask(world, 'purge', [202], 'POST', '/webhook/dlq/purge', options);
      if (answer === undefined) return;
      world.webhooks.end(mine);
      world.purges.push({ id: answer.json.id, chosen });
    },
  },
  ofOne(ordered, 'let the next of a blocked key of an endpoint go', 2, async (world, one, how) => {
    const options = { via: how.via };
    const path = pathOf(one);
    const answer = await ask(world, 'blocked', [200, 404], 'GET', `${path}/blocked`, options);
    const [blocked] = answer?.json.data ?? [];
    if (blocked === undefined) return;
    const body = { key: blocked.key };
    await ask(world, 'skip', [200, 404, 409], 'POST', `${path}/skip`, { ...options, body });
  }),
];

async function replay(world, endpoint, { via: through, only, ids, rate, lastMillis }) {
  const { webhooks } = world;
  const isOfIt = ({ endpointId }) => endpointId === endpoint.id;
  const mine = only === 'missed' && ids === 'new' ? null : webhooks.beginRetry(isOfIt);
  const askedAt = webhooks.now();
  const [{ now }] = lastMillis === null ? [{ now: null }] : await clockOf(world);
  const since = now === null ? ever : new Date(now - lastMillis).toISOString();
  const body = { since, only, ids, ...(rate && { rate }) };
  const answer = await call(world, 'POST', `${pathOf(endpoint)}/replay`, { body, via: through });
  if (mine !== null && outcomeOf(answer) !== 'lost') webhooks.end(mine);
  // A process whose clock is two hours behind sees nothing of what was reported since.
  if (!isAnswer(world, answer, 'replay', [202, 404, 409]) || answer.status !== 202) return;
  const isWhole = lastMillis === null && ['missed', 'all'].includes(only);
  const begun = { id: answer.json.id, endpoint, askedAt, isWhole };
  world.replays.push({ ...begun, mayBeCancelled: false, isOver: false });
}

/** What the database says the time is, in milliseconds; it may be away just now. */
const clockOf = (world) =>
  world
    .rows('select (extract(epoch from now()) * 1000)::float8 as now')
    .catch(() => [{ now: Date.now() }]);

/** Has all replays and purges end, and judges them; then what was held back is sent. */
export async function settleReplays(world) {
  for (const open of openReplays(world)) await settleReplay(world, open);
  await sendHeldBack(world);
  for (const { id, chosen } of world.purges.splice(0)) {
    let job = null;
    const ended = async () => {
      job = (await call(world, 'GET', `/webhook/dlq/jobs/${id}`)).json;
      return job?.finished_at;
    };
    await until(`purge ${id} to end`, ended, 60_000, () => String(job?.rows_done));
    const body = { ...chosen, failed_to: job.created_at, dry_run: true };
    const { json } = await call(world, 'POST', '/webhook/dlq/purge', { body });
    if (json.count > 0) world.say(`purge ${id} has left ${json.count}: ${JSON.stringify(job)}`);
  }
}

/** Has what waits be delivered, so that nothing more is held back, and replays what was. */
async function sendHeldBack(world) {
  const listHeld = async () => {
    const { json } = await call(world, 'GET', '/webhook/endpoints?limit=500');
    return json.data.flatMap(({ id, held_back: held }) => {
      const endpoint = world.webhooks.endpoints.get(id);
      return held === null || endpoint === undefined ? [] : [{ endpoint, held }];
    });
  };
  if ((await listHeld()).length === 0) return;
  world.receiver.heal(true);
  // What is enabled anew is sent to at once, whatever failed before.
  for (const enabled of [false, true])
    for (const endpoint of endpoints(world))
      await call(world, 'PATCH', pathOf(endpoint), { body: { enabled } });
  // Behind a dead letter others may wait in order, until it is sent by hand.
  world.webhooks.end(world.webhooks.beginRetry(() => true));
  await call(world, 'POST', '/webhook/dlq/retry', { body: {} });
  let left = null;
  const hasRoom = async () => {
    await fetchAll(world);
    left = await world.rows(`select status, count(*) from deliveries group by 1 order by 1`);
    return (await listHeld()).every(({ held }) => held.until !== null);
  };
  await until('nothing to be held back', hasRoom, 60_000, () => JSON.stringify(left));
  for (const { endpoint } of await listHeld()) await judgeFatesOf(world, endpoint);
  const how = { via: 0, only: 'missed', ids: 'new', rate: undefined, lastMillis: null };
  // What a replay queues may be as much as is held back again: then the next one finds nothing more.
  const isForgotten = async () => {
    for (const { endpoint } of await listHeld()) await replay(world, endpoint, how);
    for (const open of openReplays(world)) await settleReplay(world, open);
    await until('nothing to be held back', hasRoom, 60_000, () => JSON.stringify(left));
    return (await listHeld()).length === 0;
  };
  await until('what was held back to be forgotten', isForgotten, 60_000);
  world.receiver.heal(false);
}

async function settleReplay(world, open) {
  const { id, endpoint, askedAt, isWhole, mayBeCancelled } = open;
  const path = `/webhook/replays/${id}`;
  let job = null;
  const ended = async () => {
    const { status, json } = await call(world, 'GET', path);
    // It goes with its endpoint.
    if (status === 404 && endpoint.isDeleted) return true;
    job = json;
    if (job?.state === 'paused') await call(world, 'PATCH', path, { body: { state: 'running' } });
    if (job?.waits_for_endpoint)
      await call(world, 'PATCH', pathOf(endpoint), { body: { enabled: true } });
    return job?.finished_at;
  };
  await until(`replay ${id} to end`, ended, 90_000, () => JSON.stringify(job)).catch((error) =>
    world.say(`${error.message}: ${JSON.stringify(job)}`),
  );
  open.isOver = true;
  if (job?.state === 'cancelled' && !mayBeCancelled && !endpoint.isDeleted)
    world.say(`replay ${id} was cancelled, which nobody asked for: ${job.error}`);
  // What it wants now was not what was missed then.
  if (job?.state === 'completed' && isWhole && endpoint.subscribedAt < askedAt)
    endpoint.madeUpTo = Math.max(endpoint.madeUpTo, askedAt);
}

async function judgeFatesOf(world, endpoint) {
  const body = { since: ever, only: 'all', dry_run: true };
  const answer = await call(world, 'POST', `${pathOf(endpoint)}/replay`, { body });
  if (isAnswer(world, answer, 'preview of a replay', [200]))
    world.faults.push(...world.webhooks.judgeFates(endpoint, answer.json));
}

/** Each incident has one fate at each endpoint, and a replay sends none twice. */
export async function judgeFates(world) {
  for (const endpoint of endpoints(world))
    if (!endpoint.isUnsure) await judgeFatesOf(world, endpoint);
  const repeated = await world.rows(`
    select replay_id, incident_id, count(*)::int as count from deliveries where replay_id is not null and replay_of is null
    group by 1, 2, endpoint_id having count(*) > 1 limit 3`);
  for (const row of repeated) world.say(`a replay has sent one twice: ${JSON.stringify(row)}`);
  const needless = await world.rows(`
    select d.id, replay_id, before from (
      select d.*, lag(d.status) over (partition by d.incident_id, d.endpoint_id order by d.created_at, d.id) as before
      from deliveries d
    ) d join replays r on r.id = d.replay_id and r.selection = 'missed' and d.created_at >= r.created_at
    where before <> 'discarded' limit 3`);
  for (const row of needless) world.say(`what was not missed was sent: ${JSON.stringify(row)}`);
}
