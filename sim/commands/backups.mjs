import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openScope } from '../../bench/lib/scope.mjs';
import {
  control,
  endProcess,
  environmentOf,
  makeProcess,
  rowsOf,
  startProcess,
} from '../world.mjs';

const killAfterMillis = fc.option(fc.integer({ min: 300, max: 4000 }), { freq: 1, nil: null });

export const backupCommands = [
  {
    name: 'back up',
    weight: 1,
    draw: fc.record({ isIncremental: fc.boolean(), killAfterMillis }),
    async play(world, { isIncremental, killAfterMillis: killMillis }) {
      // Two at once take turns, which is nothing to wait for.
      if (world.isBackingUp) return;
      world.isBackingUp = true;
      const { startedAt } = world.records.beginRead({});
      const deliveries = [...world.webhooks.deliveries.keys()];
      const args = ['backup', '--out', placeOf(world), '--json', 'id'];
      if (isIncremental) args.push('--incremental');
      const { code, output } = await runCommand(world, args, killMillis);
      world.isBackingUp = false;
      if (code === 0) {
        const [, id] = /"id":\s*"([^"]+)"/.exec(output) ?? [];
        world.backup = { id, deliveries, records: world.records.copy({ since: startedAt }) };
      } else if (killMillis === null && world.isCalm()) {
        world.say(`a backup ended with ${code} in calm: ${output.slice(-500)}`);
      }
    },
  },
];

/** Restores the newest backup beside the running service, and lends a world in which one process serves it. */
export async function withRestored(world, work) {
  const { backup } = world;
  world.backup = null;
  const scope = openScope();
  try {
    const each = makeProcess(0, 'api', join(world.dir, `restored-${backup.id}`));
    const store = await world.ground.openStore(scope, each.dir);
    const databaseUrl = await world.ground.createDatabase(scope, { isEmpty: true });
    const restored = {
      ...world,
      ...{ store, databaseUrl, records: backup.records, processes: [each] },
      rows: (text, values = []) => rowsOf(databaseUrl, text, values),
      isCalm: () => true,
    };
    const args = ['restore', placeOf(world), '--id', backup.id];
    // What a killed one has left, the next one goes on with, unless only its verification was left.
    await runCommand(restored, args, 1500);
    const ended = 'select from restores where finished_at is not null';
    const isOver = (await restored.rows(ended).catch(() => [])).length > 0;
    if (!isOver) {
      const { code, output } = await runCommand(restored, args, null);
      if (code !== 0) throw new Error(`a restore ended with ${code}: ${output.slice(-500)}`);
    }
    scope.defer(() => endProcess(each, 'SIGKILL'));
    await startProcess(restored, each);
    await work(restored, backup);
  } finally {
    await scope.close();
  }
}

function placeOf({ dir }) {
  return join(dir, 'backups');
}

/** Runs a command of an operator to its end, or kills it after so long: then `code` is the name of the signal. */
export function runCommand(world, args, killMillis) {
  const dir = join(world.dir, 'operator');
  mkdirSync(dir, { recursive: true });
  control(world, { dir }, {});
  const [program] = world.programs;
  const child = spawn(process.execPath, [program, ...args], {
    env: environmentOf(world, { dir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      output += bytes;
    });
  }
  const timer =
    killMillis === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killMillis);
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code: code ?? signal, output });
    });
  });
}
