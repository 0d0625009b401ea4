import fc from 'fast-check';
import { matches } from '../model.mjs';
import { tenant } from '../values.mjs';
import { call } from '../world.mjs';
import { ask, via } from './records.mjs';

export const versionsPath = '/enrichment/dataset-versions';
const shares = { train: 60, validation: 30, test: 10 };
const leastBytes = 250;

export const versionCommands = [
  {
    name: 'freeze a version',
    weight: 2,
    draw: fc.record({
      ...{ via, tenant, dataset: fc.constantFrom('training', 'fine_tuning') },
      split: fc.constantFrom(
        {},
        { shares },
        { shares, group_by: 'n' },
        { shares, group_by: 'store' },
        { shares, where: `bytes > ${leastBytes}` },
      ),
    }),
    async play(world, { via: at, tenant: own, dataset, split }) {
      const body = { tenant: own, dataset, name: `version ${world.pending.length}`, ...split };
      const read = world.records.beginRead({ tenant: own });
      // 409: there is nothing tagged to freeze, or too much is being frozen.
      const statuses = [201, 400, 409];
      const options = { body, via: at };
      const answer = await ask(world, 'version', statuses, 'POST', versionsPath, options);
      if (answer?.status !== 201) return;
      const { id, slices, where } = answer.json;
      // Which records a `where` leaves depends on which of several contents is stored.
      const expected =
        where === null ? world.records.exactSum(read, isIn({ tenant: own, slices })) : null;
      world.pending.push({ what: `version ${id}`, kind: 'version', id, expected });
    },
  },
];

/** Whether a record lies in the tags of a version, as they were. */
const isIn =
  ({ tenant: own, slices }) =>
  (content) =>
    slices.some(({ store, from, to }) =>
      matches({ tenant: own, ...withoutNulls({ store, from, to }) }, content),
    );

const withoutNulls = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** A version that is ready has frozen what was tagged when it was made. */
export function judgeFrozen(world, { what, expected }, { count, digest }) {
  if (expected === null || (count === expected.count && digest === expected.digest)) return;
  world.say(
    `${what} has ${count} records and digest ${digest}, not ${expected.count} and ${expected.digest}`,
  );
}

const mostPairs = 3;

/** Of two versions of a tenant, one has as many records as the other, with what was added and without what is gone. */
export async function compareVersions(world) {
  const find = async () => {
    const { json } = await call(world, 'GET', `${versionsPath}?limit=50`);
    return new Map((json?.data ?? []).filter(isReady).map((version) => [version.id, version]));
  };
  const before = await find();
  const pairs = [...before.values()].flatMap((from, n, all) => {
    const to = all.slice(n + 1).find(({ tenant }) => tenant === from.tenant);
    return to === undefined ? [] : [{ from, to }];
  });
  for (const { from, to } of pairs.slice(0, mostPairs)) {
    const path = `${versionsPath}/${from.id}/diff?to=${to.id}`;
    let [added, gone] = [0, 0];
    for (let cursor = ''; cursor !== null; ) {
      const page = await call(world, 'GET', cursor === '' ? path : `${path}&cursor=${cursor}`);
      if (page.status !== 200) return;
      added += page.json.added.count;
      gone += page.json.gone.count;
      cursor = page.json.next_cursor;
    }
    const after = await find();
    const isSame = ({ id, changed_at: at }) => after.get(id)?.changed_at === at;
    if (!isSame(from) || !isSame(to)) return;
    const left = ({ current, count }) => (current ?? { count }).count;
    if (left(from) + added - gone !== left(to)) {
      world.say(
        `versions ${from.id} and ${to.id} of ${left(from)} and ${left(to)} records differ by ${added} and ${gone}`,
      );
    }
  }
}

const isReady = ({ state }) => state === 'ready';
