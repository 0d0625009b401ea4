import { type ChildProcess, execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Log } from './log.ts';

/** Lets a process give way while it works, though not for ever. */
export type Yielding = {
  /** It has work from now on; whoever says so again while it has changes nothing. */
  begin(): void;
  /** Nobody waits for it any more. */
  end(): void;
};

type YieldingOptions = {
  /** From 0, which gives way to nobody, to 19. */
  niceness: number;
  /** How often it is looked whether the process gets on, 10 s by default. */
  lookMillis?: number;
  log: Log;
};

/** A process that works and has got less of a core than this since the last look is kept from it by others. */
const leastShare = 0.05;
/** The unit of CPU times in /proc, the same on all Linux that Node runs on. */
const tickMillis = 10;

/**
 * Lets the process run when nobody else wants to: a niceness alone still takes turns with everybody, and a page waits for
 * such a turn each time that it needs a core. On a machine that is never idle it would get nothing at all (0.02 s of CPU in
 * 90 s), so one that hardly gets on takes turns, by its niceness, from then on. Linux lets only those do so who have
 * CAP_SYS_NICE or a limit of niceness (RLIMIT_NICE) that reaches it. Where the system has no `chrt`, which sets all this,
 * the niceness stays.
 */
export function giveWay(
  child: ChildProcess,
  { niceness, lookMillis = 10_000, log }: YieldingOptions,
): Yielding | undefined {
  const { pid } = child;
  if (pid === undefined || niceness === 0) return undefined;
  let timer: NodeJS.Timeout | undefined;
  let takesTurns = false;
  const schedule = (policy: '--idle' | '--other') =>
    execFile('chrt', ['--all-tasks', policy, '--pid', '0', String(pid)], (error) => {
      if (error !== null) log.debug({ err: error }, 'the DuckDB process keeps its scheduling');
    });
  try {
    setPriority(pid, niceness);
  } catch (error) {
    log.debug({ err: error }, 'the DuckDB process keeps its priority');
  }
  const end = () => {
    clearInterval(timer);
    timer = undefined;
  };
  schedule('--idle');
  child.once('exit', end);
  return {
    begin() {
      if (timer !== undefined || takesTurns) return;
      let before = cpuMillis(pid);
      timer = setInterval(() => {
        const now = cpuMillis(pid);
        if (now - before < lookMillis * leastShare) {
          takesTurns = true;
          schedule('--other');
          clearInterval(timer);
        }
        before = now;
      }, lookMillis);
      timer.unref();
    },
    end,
  };
}

/** CPU time that the process has had; not a number where the system does not tell. */
function cpuMillis(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * tickMillis;
  } catch {
    return Number.NaN;
  }
}
