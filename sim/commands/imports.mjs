import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { cleanEnvironment } from '../../bench/lib/child.mjs';
import { batch } from '../values.mjs';
import { endIngest, via } from './records.mjs';

const run = promisify(execFile);

export const importCommands = [
  {
    name: 'import a file, as ingest does',
    weight: 1,
    draw: fc.record({
      ...{ via, contents: batch },
      killAfterMillis: fc.option(fc.integer({ min: 300, max: 3000 }), { freq: 1, nil: null }),
    }),
    play: (world, { via: at, contents, killAfterMillis }) =>
      importFile(world, contents, { via: at, killAfterMillis }),
  },
];

/** An import waits for a service that does not answer, but here it may come back at another port. */
const longestImportMillis = 20_000;

/** Has the command line import records from a file, or kills it, and tells the model what became of them. */
async function importFile(world, contents, { via: at, killAfterMillis }) {
  const ready = world.processes.filter(({ url, isReady, roles }) => {
    return url !== '' && isReady && roles.includes('api');
  });
  const each = ready[at % ready.length];
  if (each === undefined || world.programs.length > 1) return;
  const dir = mkdtempSync(join(world.dir, 'import-'));
  const path = join(dir, 'records.ndjson');
  writeFileSync(path, contents.map(({ text }) => `${text()}\n`).join(''));
  const write = world.records.beginWrite(contents);
  const args = [world.programs[0], 'records', 'import', path, '--json'];
  const { code, stdout, stderr } = await run(process.execPath, args, {
    env: cleanEnvironment({ HOME: dir, SVC_URL: each.url, SVC_TOKEN: world.token }),
    timeout: killAfterMillis ?? longestImportMillis,
    killSignal: 'SIGKILL',
  }).then(
    (ended) => ({ code: 0, ...ended }),
    (error) => error,
  );
  const isWhole = code === 0 || code === 7;
  if (!isWhole && killAfterMillis === null && world.isCalm())
    world.say(`an import ended with ${code} in calm: ${stderr}`);
  const told = isWhole ? JSON.parse(stdout) : null;
  const rejected = told?.rejected.map(({ row, ...reason }) => ({ ...reason, index: row - 1 }));
  const answer = told && { status: 200, json: { ...told, rejected } };
  endIngest(world, write, answer ?? { status: 0, error: new Error('hung up') });
}
