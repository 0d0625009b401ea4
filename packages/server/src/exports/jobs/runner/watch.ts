import type { Database } from '../../../platform/postgres/database.ts';
import { JobLost } from './faults.ts';
import { type Held, isStillHeld, updateProgress } from './queries.ts';

/** Seen in time for a cancel to be honoured within a second. */
const lookMillis = 300;
/** Progress is written every 1.2 s at most. */
const looksPerWrite = 4;

export type Progress = { readonly rows: number; readonly bytes: number };

/**
 * Looks whether a job is still this runner’s, and writes how far it is, until it is stopped. Calls `onLost`
 * when it is not. A database that does not answer changes nothing: the session of the lock tells that.
 */
export function watchJob(
  db: Database,
  held: Held,
  options: { progress: () => Progress; onLost: (reason: JobLost) => void },
): { stop(): Promise<void> } {
  let isStopped = false;
  let looks = 0;
  let written: Progress | undefined;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    looks += 1;
    const now = options.progress();
    const isNews = now.rows !== written?.rows || now.bytes !== written.bytes;
    const isHeld =
      looks % looksPerWrite === 0 && isNews
        ? await updateProgress(db, held, now).then((is) => {
            written = now;
            return is;
          })
        : await isStillHeld(db, held);
    if (!isHeld && !isStopped) options.onLost(new JobLost('the job was cancelled or taken over'));
  }
  function waitAndLook(): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      underWay = look()
        .catch(() => {})
        .then(waitAndLook);
    }, lookMillis);
  }

  waitAndLook();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}
