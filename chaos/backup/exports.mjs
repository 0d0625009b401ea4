import { setTimeout as delay } from 'node:timers/promises';

/** A client that asks for one export after the other, as jobs, whose files backups must have. */
export function startExports(world) {
  const faults = [];
  let completed = 0;
  let isRunning = true;
  const insist = async (method, path, body, headers) => {
    while (isRunning) {
      const answer = await world.call(method, path, body, headers).catch(() => null);
      if (answer !== null && answer.status < 300) return answer.json;
      await delay(200);
    }
    return null;
  };
  const client = (async () => {
    while (isRunning) {
      let job = await insist('POST', '/exports/csv', { tenant: 'AK' }, { prefer: 'respond-async' });
      while (job !== null && job.finished_at === null) {
        await delay(200);
        job = await insist('GET', `/exports/${job.id}`);
      }
      if (job?.state === 'completed') completed += 1;
      else if (job !== null) faults.push(`export ${job.id}: ${job.state} ${job.error}`);
      await delay(2000);
    }
  })();
  return {
    faults,
    completed: () => completed,
    async stop() {
      isRunning = false;
      await client;
    },
  };
}
