import { setTimeout as delay } from 'node:timers/promises';
import { watchTree } from '../lib/memory.mjs';
import { formatCount, formatMiB, formatSeconds, markdownTable } from '../lib/table.mjs';
import { send } from '../retention/world.mjs';
import { timed } from './world.mjs';

/** A sample of the large world, and all of the small one: objects read back, digests computed, counters compared. */
export async function benchVerify({ small, large, sizes, say }) {
  const rows = [];
  for (const [name, world, percent] of [
    ['small, all', small, 100],
    [`large, ${sizes.verified} %`, large, sizes.verified],
  ]) {
    say(`verifying ${percent} % of ${formatCount(world.records)} records`);
    const memory = await watchTree(world.service.pid, () => timed(() => verify(world, percent)));
    const [millis, verification] = memory.result;
    if (!verification.ok) throw new Error(JSON.stringify(verification.problems));
    rows.push([
      name,
      formatSeconds(millis),
      formatCount(verification.segments_done),
      formatCount(verification.records_done),
      formatCount((verification.records_done / millis) * 1000),
      formatMiB(memory.peakBytes),
    ]);
  }
  return [
    '### Verifying',
    '`svcctl retention verify`, with `--sample` for the large world. Memory is that of the service and its DuckDB.',
    markdownTable(['', 'time:', 'segments:', 'records:', 'records/s:', 'memory:'], rows),
  ].join('\n\n');
}

async function verify({ service, client }, percent) {
  const { id } = await send(service, 'POST', '/retention/verify', {
    ...(percent < 100 && { sample_percent: percent }),
  });
  for (;;) {
    const { body } = await client.get(`/api/v1/retention/verify/${id}`);
    if (body.state === 'completed') return body;
    if (body.state === 'failed') throw new Error(`the verification failed: ${body.error}`);
    await delay(50);
  }
}
