import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { cleanEnvironment } from '../../bench/lib/child.mjs';
import { readFiles, sha256Of } from '../files.mjs';
import { matches } from '../model.mjs';
import { tenant } from '../values.mjs';
import { call } from '../world.mjs';
import { ask, cursorOf, via } from './records.mjs';

const run = promisify(execFile);
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
      world.versions.push({ id, tenant: own, dir: null });
      world.pending.push({ what: `version ${id}`, kind: 'version', id, expected });
    },
  },
  {
    name: 'compare two versions',
    weight: 1,
    draw: fc.record({ via, at: fc.nat(100), to: fc.nat(100) }),
    async play(world, { via: through, at, to }) {
      const one = world.versions[at % Math.max(1, world.versions.length)];
      const others = world.versions.filter(({ tenant: own }) => own === one?.tenant);
      if (one === undefined) return;
      const other = others[to % others.length];
      await compare(world, one.id, other.id, through);
    },
  },
  {
    name: 'bundle a version',
    weight: 1,
    draw: fc.record({
      ...{ via, at: fc.nat(100) },
      killAfterMillis: fc.option(fc.integer({ min: 500, max: 8000 }), { freq: 2, nil: null }),
    }),
    async play(world, { via: through, at, killAfterMillis }) {
      const version = world.versions[at % Math.max(1, world.versions.length)];
      // Two of them at once would write the same files. What this one leaves, the one at rest goes on with.
      if (version === undefined || version.dir !== null) return;
      version.dir = mkdtempSync(join(world.dir, 'bundle-'));
      await bundle(world, version, { via: through, killAfterMillis });
    },
  },
];

/** What one version has more and less than another is what their counts differ by, while nothing of both is erased. */
async function compare(world, id, to, through) {
  const show = async (each) => {
    const path = `${versionsPath}/${each}`;
    return (await ask(world, 'version', [200, 404], 'GET', path, { via: through }))?.json;
  };
  let [difference, cursor] = [0, ''];
  do {
    const path = `${versionsPath}/${id}/diff?to=${to}${cursor}`;
    // 409: one of them is being counted, or its counting failed.
    const answer = await ask(world, 'diff', [200, 404, 409], 'GET', path, { via: through });
    if (answer?.status !== 200) return;
    difference += answer.json.added.count - answer.json.gone.count;
    cursor = cursorOf(answer);
  } while (cursor !== '');
  const [before, after] = [await show(id), await show(to)];
  if (before?.changed_at !== null || after?.changed_at !== null) return;
  // One of them may not be counted yet.
  if (before.count === null || after.count === null) return;
  if (after.count - before.count === difference) return;
  world.say(
    `${to} has ${after.count} records, ${id} ${before.count}, and they differ by ${difference}`,
  );
}

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

/** A bundle waits for its exports, and for a service that comes back at the same port. */
const longestBundleMillis = 240_000;

/** Has the command line bundle a version, or kills it. Answers how it ended; undefined where no process serves. */
async function bundle(world, { id, dir }, { via: at, killAfterMillis }) {
  const ready = world.processes.filter(({ isReady, roles }) => isReady && roles.includes('api'));
  const each = ready[at % ready.length];
  if (each === undefined || world.programs.length > 1) return undefined;
  const args = [world.programs[0], 'records', 'versions', 'bundle', id, '--dir', dir];
  return run(process.execPath, args, {
    env: cleanEnvironment({ HOME: dir, SVC_URL: each.url, SVC_TOKEN: world.token }),
    timeout: killAfterMillis ?? longestBundleMillis,
    killSignal: 'SIGKILL',
  }).then(
    () => ({ code: 0, stderr: '' }),
    (error) => (error.killed ? { code: 'killed', stderr: error.stderr } : error),
  );
}

/** So many are read at a rest, of those that were begun. */
const mostBundles = 2;

/** Goes on with bundles that were begun, and reads them: each split has the records that were frozen in it. */
export async function judgeBundles(world) {
  const begun = world.versions.filter(({ dir }) => dir !== null).slice(0, mostBundles);
  for (const version of begun) {
    const { id, dir } = version;
    world.versions.splice(world.versions.indexOf(version), 1);
    const show = async () => (await call(world, 'GET', `${versionsPath}/${id}`)).json;
    const before = await show();
    // What was erased since may be in a bundle or not, according to when it was made.
    if (before?.state !== 'ready' || before.changed_at !== null) continue;
    if (!(await isWhole(dir))) {
      const ended = await bundle(world, version, { via: 0, killAfterMillis: null });
      if (ended === undefined || ended.code !== 0) {
        world.say(`the bundle of ${id} ended with ${ended?.code} at rest: ${ended?.stderr}`);
        continue;
      }
    }
    await readBundle(world, before, dir);
  }
}

const sumsName = 'SHA256SUMS';

const isWhole = (dir) =>
  readFile(join(dir, sumsName)).then(
    () => true,
    () => false,
  );

async function readBundle(world, version, dir) {
  const what = `the bundle of ${version.id}`;
  const sums = (await readFile(join(dir, sumsName), 'utf8')).split('\n').filter(Boolean);
  for (const line of sums) {
    const [sha256, name] = line.split('  ');
    const found = sha256Of(await readFile(join(dir, name)));
    if (found !== sha256) world.say(`${name} in ${what} is not what its checksums say`);
  }
  const statistics = JSON.parse(await readFile(join(dir, 'statistics.json'), 'utf8'));
  const seen = new Set();
  const isMeant = isIn(version);
  const onRecord = (content) => {
    if (seen.has(content)) world.say(`${what} has ${content.key} in two splits`);
    seen.add(content);
    const isLarge = version.where === null || content.bytes > leastBytes;
    if (!isLarge || !isMeant(content)) world.say(`${what} has ${content.key}`);
  };
  const names = Object.keys(statistics);
  for (const name of names) {
    const files = [{ path: join(dir, 'data', `${name}-00000-of-00001.parquet`) }];
    const found = await readFiles(world, {
      form: 'typed',
      files,
      what: `${name} of ${what}`,
      onRecord,
    });
    const { count, digest } = version.splits?.[name] ?? version;
    const told = [found.count, found.digest, statistics[name].rows].join();
    if (told !== [count, digest, count].join())
      world.say(`${name} of ${what} has ${told} rows and digest, not ${count} and ${digest}`);
  }
  if (seen.size !== version.count)
    world.say(`${what} has ${seen.size} records of ${version.count}`);
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
