import {
  formatCount,
  formatMiB,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';

/** What the worlds are, and what a service costs that only stands there. */
export async function benchMade({ small, large }) {
  const row = (title, of, format) => [title, format(of(small)), format(of(large)), none, none];
  const compared = (title, of, format, most) => {
    const ratio = of(large) / of(small);
    return [
      title,
      format(of(small)),
      format(of(large)),
      formatRatio(ratio),
      goal(`≤ ${most}`, ratio <= most),
    ];
  };
  return [
    `### A cold tier of ${formatCount(large.records)} records`,
    'Made up: tenants with two stores, sixty months and a segment for each year, with true counters and digests; DuckDB writes the segments in our layout. Beside it a small one of the same shape, in a database of its own on the same PostgreSQL; all ratios below are of the large one to the small one.',
    markdownTable(
      ['', 'small:', 'large:', 'ratio:', 'goal'],
      [
        row('records', ({ records }) => records, formatCount),
        row('tenants', ({ tenants }) => tenants, formatCount),
        row('leaves', ({ tenants }) => tenants * 120, formatCount),
        row('segments', ({ segments }) => segments, formatCount),
        row('bytes of the segments', ({ storedBytes }) => storedBytes, formatMiB),
        row('bytes of the database', ({ databaseBytes }) => databaseBytes, formatMiB),
        row('made in', ({ madeMillis }) => madeMillis, formatSeconds),
        compared('start of the service', ({ startMillis }) => startMillis, formatSeconds, 1.3),
        compared('memory of the resting service', ({ idleBytes }) => idleBytes, formatMiB, 1.3),
      ],
    ),
  ].join('\n\n');
}
