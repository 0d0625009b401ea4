import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { rowsOfLines } from '../rows.mjs';
import { slice, tenant } from '../values.mjs';
import { call, until } from '../world.mjs';
import { ask, via } from './records.mjs';

const shares = { train: 60, validation: 30, test: 10 };
const format = fc.constantFrom('csv', 'ndjson', 'parquet');

export const exportCommands = [
  {
    name: 'stream an export',
    weight: 5,
    draw: fc.record({ via, slice, format }),
    play: (world, { via: at, slice: filter, format: as }) => streamExport(world, at, filter, as),
  },
  {
    name: 'read an export and hang up',
    weight: 1,
    draw: fc.record({ via, tenant, format, afterMillis: fc.nat(200) }),
    async play(world, { via: at, tenant: own, format: as, afterMillis }) {
      const onRequest = (sent) => {
        sent.end(JSON.stringify({ tenant: own }));
        setTimeout(() => sent.destroy(), afterMillis);
      };
      const headers = { 'content-type': 'application/json' };
      await call(world, 'POST', `/exports/${as}`, { via: at, headers, onRequest });
    },
  },
  {
    name: 'export as a job',
    weight: 2,
    draw: fc.record({
      via,
      slice,
      format,
      isCancelled: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    }),
    async play(world, { via: at, slice: filter, format: as, isCancelled }) {
      const read = world.records.beginRead(filter);
      const options = { body: filter, via: at, headers: { prefer: 'respond-async' } };
      const answer = await ask(world, 'export job', [202], 'POST', `/exports/${as}`, options);
      if (answer === undefined) return;
      // What it exports is what was there when it was asked for.
      const { id } = answer.json;
      const expected = world.records.exactSum(read);
      const job = { what: `export ${id}`, id, kind: 'export' };
      world.pending.push({ ...job, expected, filter, format: as, isCancelled });
      if (isCancelled) await call(world, 'DELETE', `/exports/${id}`, { via: at });
    },
  },
  {
    name: 'freeze a version',
    weight: 1,
    draw: fc.record({
      ...{ via, tenant, dataset: fc.constantFrom('training', 'fine_tuning') },
      split: fc.constantFrom(
        {},
        { shares },
        { shares, group_by: 'n' },
        { shares, group_by: 'store' },
        { shares, where: 'bytes > 250' },
      ),
    }),
    async play(world, { via: at, tenant: own, dataset, split }) {
      const body = { tenant: own, dataset, name: `version ${world.pending.length}`, ...split };
      // 409: there is nothing tagged to freeze, or too much is being frozen.
      const statuses = [201, 400, 409];
      const options = { body, via: at };
      const answer = await ask(world, 'version', statuses, 'POST', paths.version, options);
      if (answer?.status !== 201) return;
      const { id } = answer.json;
      world.pending.push({ what: `version ${id}`, kind: 'version', id });
    },
  },
];

/** Streams a slice. A file that ends whole has as many rows as it announced, and each as it was sent. */
export async function streamExport(world, via, filter, format) {
  const read = world.records.beginRead(filter);
  const options = { body: filter, via, timeoutMillis: 60_000 };
  const path = `/exports/${format}`;
  const answer = await ask(world, `${format} export`, [200], 'POST', path, options);
  if (answer === undefined) return false;
  const { bytes, headers, trailers } = answer;
  const announced = Number(headers['x-record-count']);
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
  if (trailers['repr-digest'] !== digest)
    world.say(`a whole ${format} has the trailer ${trailers['repr-digest']}, not ${digest}`);
  const count = countRows[format](bytes);
  if (count !== announced)
    world.say(`${format} of ${count} rows announced ${announced}: ${JSON.stringify(filter)}`);
  const { records } = world;
  world.faults.push(
    ...(format === 'ndjson'
      ? records.endRead(read, rowsOfLines(bytes))
      : records.endCount(read, { count })),
  );
  return true;
}

const countRows = {
  ndjson: countLines,
  csv: (bytes) => countLines(bytes) - 1,
  parquet: countParquet,
};

const paths = {
  export: '/exports',
  version: '/enrichment/dataset-versions',
  run: '/retention/runs',
  look: '/retention/verify',
  verify: '/retention/verify',
};

/** Waits until all that was asked for has ended, and compares it with what was there when it was asked for. */
export async function settleJobs(world) {
  for (const job of world.pending.splice(0)) {
    const { what, kind, id } = job;
    const isOver = ({ state, finished_at: end }) =>
      kind === 'version' ? state !== 'counting' : end !== null;
    let row;
    let newest;
    const look = async () => {
      const answer = await call(world, 'GET', `${paths[kind]}/${id}`);
      if (answer.status === 200) row = answer.json;
      // A run counts what it has moved by whole tenants, and one of 20,000 stores takes minutes.
      if (kind === 'run' && answer.status === 200 && !isOver(row)) {
        newest = (await call(world, 'GET', `/retention/moves?run_id=${id}&limit=1`)).json;
      }
      // A version whose records were all erased is gone.
      return (
        (answer.status === 404 && kind === 'version') || (answer.status === 200 && isOver(row))
      );
    };
    await until(`${what} to end`, look, 240_000, () => JSON.stringify([row, newest])).then(
      () => row !== undefined && judgeJob(world, job, row),
      (error) => world.say(`${error.message}: ${JSON.stringify(row)}`),
    );
  }
  await compareVersions(world);
}

const mostPairs = 3;

/** Of two versions of a tenant, one has as many records as the other, with what was added and without what is gone. */
async function compareVersions(world) {
  const find = async () => {
    const { json } = await call(world, 'GET', `${paths.version}?limit=50`);
    return new Map((json?.data ?? []).filter(isReady).map((version) => [version.id, version]));
  };
  const before = await find();
  const pairs = [...before.values()].flatMap((from, n, all) => {
    const to = all.slice(n + 1).find(({ tenant }) => tenant === from.tenant);
    return to === undefined ? [] : [{ from, to }];
  });
  for (const { from, to } of pairs.slice(0, mostPairs)) {
    const path = `${paths.version}/${from.id}/diff?to=${to.id}`;
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

/** Nobody can wait for room, for a disk that fails or a clock that is wrong: what meets that says so and ends. */
const excused = /\((ENOSPC|EIO)\)|RequestTimeTooSkewed/;

function judgeJob(world, { what, kind, expected, isCancelled }, row) {
  const { state, error, error_code: code } = row;
  const isExcused = excused.test(String(error));
  if (kind === 'verify' && !row.ok) {
    world.say(`${what}: ${state}, ${error} ${JSON.stringify(row.problems.slice(0, 3))}`);
  }
  if (kind === 'run' && state === 'failed' && !isExcused) world.say(`${what} failed: ${error}`);
  const isEmpty = /fits the where/.test(String(error));
  if (kind === 'version' && state === 'failed' && !isExcused && !isEmpty) {
    world.say(`${what} failed: ${JSON.stringify(row).slice(0, 300)}`);
  }
  if (kind !== 'export') return;
  // A job whose records were erased meanwhile says so.
  const isFine =
    ['completed', 'erased'].includes(state) ||
    (state === 'cancelled' && isCancelled) ||
    (state === 'failed' && (isExcused || code === 'slice_erased'));
  if (!isFine) world.say(`${what} ${state}: ${code} ${error}`);
  if (state !== 'completed' || expected === null) return;
  const { rows_total: rows, digest } = row;
  if (rows !== expected.count || digest !== expected.digest) {
    world.say(
      `${what} has ${rows} rows and digest ${digest}, not ${expected.count} and ${expected.digest}`,
    );
  }
}

function countLines(bytes) {
  let lines = 0;
  for (const byte of bytes) if (byte === 10) lines += 1;
  return lines;
}

function countParquet(bytes) {
  // The last eight bytes say how long the footer before them is, and the rows are not copied.
  const footer = bytes.subarray(-8 - bytes.readUInt32LE(bytes.length - 8));
  return Number(parquetMetadata(new Uint8Array(footer).buffer).num_rows);
}
