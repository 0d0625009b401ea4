import { createJob, untilCompleted } from '../exports/world.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatRatio, formatSeconds, goal, markdownTable } from '../lib/table.mjs';
import { tenant } from './world.mjs';

const kinds = [
  { name: 'CSV', format: 'csv', body: {} },
  { name: 'CSV, gzip', format: 'csv', body: { compression: 'gzip' } },
  { name: 'Parquet', format: 'parquet', body: {} },
];

/** Export jobs whose files go to S3, in turn with jobs whose files go to a folder. */
export async function benchJobs({ sides, flights, sizes, say }) {
  const rows = [];
  for (const { name, format, body } of kinds) {
    const times = { file: [], s3: [] };
    for (let i = 0; i < sizes.pairs; i += 1) {
      for (const [side, { service, client }] of Object.entries(sides)) {
        say(`${name}, ${i + 1} of ${sizes.pairs}: ${side}`);
        const startedAt = performance.now();
        const { id } = await createJob(service, format, { tenant, ...body });
        await untilCompleted(client, id);
        times[side].push(performance.now() - startedAt);
      }
    }
    const ratio = median(times.s3) / median(times.file);
    rows.push([
      name,
      formatSeconds(median(times.file)),
      formatSeconds(median(times.s3)),
      formatRatio(ratio),
      goal('≤ 1.2', ratio <= 1.2),
    ]);
  }
  return [
    `### Export jobs of ${formatCount(flights)} cold records to S3`,
    `From the request to \`completed\`, the file proved; the segments are read from the same store. Medians of ${sizes.pairs}, in turn. The server of S3 runs on the same machine and shares its processors.`,
    markdownTable(['', 'folder:', 'S3:', 'ratio:', 'goal'], rows),
  ].join('\n\n');
}
