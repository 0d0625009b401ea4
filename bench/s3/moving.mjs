import { median } from '../lib/stats.mjs';
import { formatCount, formatRatio, formatSeconds, markdownTable, none } from '../lib/table.mjs';
import { send } from '../retention/world.mjs';

/** The moves that made the world, and verifications of all that they wrote. */
export async function benchMoving({ sides, moves, flights, sizes, say }) {
  for (const runs of Object.values(moves)) {
    const moved = runs.reduce((sum, { records }) => sum + records, 0);
    if (moved !== flights) throw new Error(`${moved} of ${flights} records were moved`);
  }
  const verified = { file: [], s3: [] };
  for (let i = 0; i < sizes.pairs; i += 1) {
    for (const [name, side] of Object.entries(sides)) {
      say(`verifying, ${i + 1} of ${sizes.pairs}: ${name}`);
      verified[name].push(await verify(side));
    }
  }
  const perSecond = (runs) => median(runs.map(({ records, seconds }) => records / seconds));
  const [folder, s3] = [perSecond(moves.file), perSecond(moves.s3)];
  const [inFolder, inS3] = [median(verified.file), median(verified.s3)];
  return [
    `### Moving ${formatCount(flights)} records to S3, and verifying them`,
    `Medians of ${sizes.pairs}, in turn; a move is copied, uploaded, read back from the store and verified. The ratio is that of the times.`,
    markdownTable(
      ['', 'folder:', 'S3:', 'ratio:', 'goal'],
      [
        ['moved, records/s', formatCount(folder), formatCount(s3), formatRatio(folder / s3), none],
        [
          'verified, all',
          formatSeconds(inFolder),
          formatSeconds(inS3),
          formatRatio(inS3 / inFolder),
          none,
        ],
      ],
    ),
  ].join('\n\n');
}

/** Verifies everything; answers how long it took. */
async function verify({ service, client }) {
  const startedAt = performance.now();
  const { id } = await send(service, 'POST', '/retention/verify', {});
  for (;;) {
    const { body } = await client.get(`/api/v1/retention/verify/${id}`);
    if (body.state === 'failed' || body.ok === false) throw new Error(JSON.stringify(body));
    if (body.state === 'completed') return performance.now() - startedAt;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
