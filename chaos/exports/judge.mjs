import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../lib/wait.mjs';
import { untilEnded } from './load.mjs';

/** What has become of all jobs. */
export async function judge(world, load) {
  const details = [];
  const found = {
    jobs: load.jobs.length,
    completed: 0,
    resumed: 0,
    cancelled: 0,
    late: load.sum.late,
    runs: load.sum.runs,
    refused: load.sum.refused,
    ...load.streams,
    failed: 0,
    otherFiles: 0,
    otherDownloads: 0,
    strayObjects: 0,
  };
  for (const { id, reference, isCancelled } of load.jobs) {
    const job = await untilEnded(world, id);
    if (job.attempts > 1) found.resumed += 1;
    if (job.state === 'cancelled' && isCancelled) {
      found.cancelled += 1;
    } else if (job.state !== 'completed') {
      found.failed += 1;
      details.push(`${id}: ${job.state}, ${job.error}`);
    } else {
      found.completed += 1;
      const isSame =
        job.sha256 === reference.sha256 &&
        job.digest === reference.digest &&
        job.rows_done === reference.rows;
      if (!isSame) {
        found.otherFiles += 1;
        details.push(`${id}: ${reference.format} ${job.sha256} instead of ${reference.sha256}`);
      }
      const downloaded = await download(world, id);
      if (downloaded !== job.sha256) {
        found.otherDownloads += 1;
        details.push(`${id}: what was downloaded is not what the job says`);
      }
    }
    await world.call('DELETE', `/exports/${id}`);
  }
  found.strayObjects = await countStrays(world, details);
  return { ...found, details };
}

async function download(world, id) {
  const response = await fetch(`${world.service.url}/api/v1/exports/${id}/file`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  if (response.status !== 200) return response.status;
  const hash = createHash('sha256');
  for await (const chunk of response.body) hash.update(chunk);
  return hash.digest('hex');
}

/** Objects of exports whose files are all removed: there must be none but those of the undisturbed ones. */
async function countStrays(world, details) {
  const kept = await world.database.rows(
    `select id from exports where state = 'completed' and files_removed_at is null`,
  );
  const folder = join(world.dataDir, 'cold', 'exports');
  const list = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !kept.some(({ id }) => path.includes(id)));
  try {
    await until('removed files to be gone', () => list().length === 0, 30_000);
  } catch {
    details.push(...list().slice(0, 5));
  }
  return list().length;
}
