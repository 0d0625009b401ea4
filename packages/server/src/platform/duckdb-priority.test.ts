import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { createDuckDb } from './duckdb.ts';
import { giveWay } from './duckdb-priority.ts';
import { createLog } from './log.ts';

const isThere = execFileSync('sh', ['-c', 'command -v chrt || true']).length > 0;
/** Whether we may leave the scheduling that runs when nobody else does: not every user may. */
const mayLeave = spawnSync('chrt', ['--idle', '0', 'chrt', '--other', '0', 'true']).status === 0;
const whenIdle = isThere ? 5 : 0;
const log = createLog('silent');

/** How Linux schedules a process, by the fields of /proc/PID/stat behind its name: 0 as usual, 5 when nobody else runs. */
function schedulingOf(pid: number | undefined) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return { niceness: Number(fields[16]), policy: Number(fields[38]) };
}

test('a process of low priority runs when nobody else does, where chrt is there to say so', async () => {
  const limits = { memoryBytes: 2 ** 27, threads: 1, tempDir: '.', niceness: 5 };
  const duckdb = createDuckDb({ ...limits, lookMillis: 3_600_000, log });
  onTestFinished(() => duckdb.close());
  await duckdb.run('select 1');
  await expect.poll(() => schedulingOf(duckdb.pid())).toEqual({ niceness: 5, policy: whenIdle });
});

test('a process that has work and hardly gets on takes turns from then on, where it may', async () => {
  // It gets as little as one that waits for a core of a machine which is never idle.
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill());
  const yielding = giveWay(child, { niceness: 5, lookMillis: 50, log });
  await expect.poll(() => schedulingOf(child.pid)).toEqual({ niceness: 5, policy: whenIdle });
  yielding?.begin();
  await expect.poll(() => schedulingOf(child.pid).policy).toBe(mayLeave ? 0 : whenIdle);
  yielding?.end();
});
