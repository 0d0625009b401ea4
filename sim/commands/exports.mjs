import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { forms, readFiles, sha256Of } from '../files.mjs';
import { matches } from '../model.mjs';
import { rowsOfLines } from '../rows.mjs';
import { among, events, slice, tenant } from '../values.mjs';
import { call, until } from '../world.mjs';
import { ask, via } from './records.mjs';
import { compareVersions, judgeFrozen, versionsPath } from './versions.mjs';

const format = fc.constantFrom('csv', 'ndjson', 'parquet');
const plainForms = ['csv', 'ndjson', 'parquet'];
const compression = fc.constantFrom('none', 'none', 'gzip');
const formOf = (names) => fc.record({ form: fc.constantFrom(...names), compression });
/** How records leave into files: those that schedules know, and all. */
export const plainForm = formOf(plainForms);
const formOfFile = formOf([...plainForms, 'typed', 'template']);

/** What is asked for beside the slice: Parquet takes no compression of the file. */
export function compressed({ form, compression: by }) {
  return forms[form].format === 'parquet' ? {} : { compression: by };
}

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
    weight: 3,
    draw: fc.record({
      ...{ via, slice, events, how: formOfFile },
      isCancelled: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    }),
    async play(world, { via: at, slice: asked, events: some, how, isCancelled }) {
      const { format: as, ask: more } = forms[how.form];
      const { meant, asked: where } = among(some);
      const filter = { ...asked, ...meant };
      const read = world.records.beginRead(filter);
      const body = { ...asked, ...where, ...more, ...compressed(how) };
      const options = { body, via: at, headers: { prefer: 'respond-async' } };
      const answer = await ask(world, 'export job', [202], 'POST', `/exports/${as}`, options);
      if (answer === undefined) return;
      // What it exports is what was there when it was asked for.
      const { id } = answer.json;
      const expected = world.records.exactSum(read);
      world.pending.push({
        ...{ what: `${how.form} export ${id}`, id, kind: 'export', expected, filter },
        ...{ how, isCancelled },
      });
      if (isCancelled) await call(world, 'DELETE', `/exports/${id}`, { via: at });
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
  version: versionsPath,
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
      () => row && judgeJob(world, job, row),
      (error) => world.say(`${error.message}: ${JSON.stringify(row)}`),
    );
  }
  await compareVersions(world);
}

/** Nobody can wait for room, for a disk that fails or a clock that is wrong: what meets that says so and ends. */
const excused = /\((ENOSPC|EIO)\)|RequestTimeTooSkewed/;

async function judgeJob(world, job, row) {
  const { what, kind, expected, isCancelled } = job;
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
  if (kind === 'version' && state === 'ready') judgeFrozen(world, job, row);
  if (kind !== 'export') return;
  // A job whose records were erased meanwhile says so.
  const isFine =
    ['completed', 'erased'].includes(state) ||
    (state === 'cancelled' && isCancelled) ||
    (state === 'failed' && (isExcused || code === 'slice_erased'));
  if (!isFine) world.say(`${what} ${state}: ${code} ${error}`);
  if (state !== 'completed') return;
  await judgeFile(world, job, row);
  if (expected === null) return;
  const { rows_total: rows, digest } = row;
  if (rows !== expected.count || digest !== expected.digest) {
    world.say(
      `${what} has ${rows} rows and digest ${digest}, not ${expected.count} and ${expected.digest}`,
    );
  }
}

/** Downloads the file of a job that is completed, and compares its rows with what the job says of them. */
async function judgeFile(world, job, { rows_total: rows, digest, sha256 }) {
  const { what, id, how, filter, isCancelled } = job;
  const read = (name) => call(world, 'GET', `${paths.export}/${id}/${name}`, { via: rows });
  const [file, manifest] = [await read('file'), await read('manifest')];
  // It may be gone: its records were erased since it was looked at, or it was cancelled when it had just completed.
  if (file.status !== 200 || manifest.status !== 200) {
    const { json } = await call(world, 'GET', `${paths.export}/${id}`);
    if (json?.state === 'completed' && !isCancelled)
      world.say(`${what} is completed: ${file.text.slice(0, 300)}`);
    return;
  }
  if (sha256Of(file.bytes) !== sha256) world.say(`the file of ${what} is not what it says`);
  const dir = await mkdtemp(join(world.dir, 'export-'));
  const path = join(dir, 'file');
  await writeFile(path, file.bytes);
  const onRecord = (content) => {
    if (!matches(filter, content)) world.say(`${what} has ${content.key}`);
  };
  const files = [{ path, ...compressed(how) }];
  const found = await readFiles(world, { form: how.form, files, what, onRecord });
  await rm(dir, { recursive: true });
  const { isAll } = forms[how.form];
  const skipped = manifest.json.skipped?.rows ?? 0;
  if (found.count + skipped !== rows || (isAll && found.digest !== digest)) {
    world.say(
      `the file of ${what} has ${found.count} rows and digest ${found.digest}, ${skipped} skipped, not ${rows} and ${digest}`,
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
