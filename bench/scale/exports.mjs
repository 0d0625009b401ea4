import { median } from '../lib/stats.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { drain, requestCsv } from '../records/csv-request.mjs';
import { tenantName } from './shape.mjs';

const quarter = { tenant: tenantName(0), from: '2023-01-01', to: '2023-03-31' };

/** The CSV of the largest tenant's quarter, in turn of both worlds, in which it is the same. */
export async function benchExports({ small, large, sizes }) {
  const times = { small: [], large: [] };
  let rows = 0;
  for (let i = 0; i <= sizes.exports; i += 1) {
    for (const [name, { client }] of Object.entries({ small, large })) {
      const startedAt = performance.now();
      const { response, rowCount } = await requestCsv(client, quarter);
      await drain(response);
      if (rows !== 0 && rows !== rowCount) throw new Error(`${rowCount} rows instead of ${rows}`);
      rows = rowCount;
      if (i > 0) times[name].push(performance.now() - startedAt);
    }
  }
  const [before, after] = [median(times.small), median(times.large)];
  const ratio = before / after;
  const perSecond = (millis) => formatCount((rows / millis) * 1000);
  return [
    `### Exporting a quarter of ${formatCount(rows)} rows`,
    'CSV, all columns, drained by the client; the same tenant in both worlds, in turn.',
    markdownTable(
      ['', 'small:', 'large:', 'ratio:', 'goal'],
      [
        [
          'rows/s',
          perSecond(before),
          perSecond(after),
          formatRatio(ratio),
          goal('≥ 0.9', ratio >= 0.9),
        ],
        ['milliseconds', formatMillis(before), formatMillis(after), none, none],
      ],
    ),
  ].join('\n\n');
}
