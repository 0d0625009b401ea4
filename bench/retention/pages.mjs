import { summary } from '../lib/latency.mjs';
import { formatMillis, formatRatio, goal, markdownTable, none } from '../lib/table.mjs';
import { tenant } from './world.mjs';

/** Pages of 500 cold records: the first, the last, and any in between. */
export async function benchPages({ client, sizes }) {
  const list = (query) => `/api/v1/enrichment/records?tenant=${tenant}&limit=500&${query}`;
  const cursors = await walk(client, list(''), 200);
  const kinds = {
    'first page': () => list(''),
    'last page': () => list('order=desc'),
    'pages in between': (i) => list(`cursor=${encodeURIComponent(cursors[i % cursors.length])}`),
  };
  const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
  for (let i = 0; i < sizes.requests; i += 1) {
    for (const [kind, path] of Object.entries(kinds)) {
      const { elapsedMillis, body } = await client.get(path(i));
      if (body.data.length !== 500) throw new Error(`${kind}: ${body.data.length} records`);
      times[kind].push(elapsedMillis);
    }
  }
  const found = Object.fromEntries(Object.entries(times).map(([kind, of]) => [kind, summary(of)]));
  const ratio = found['last page'].p50 / found['first page'].p50;
  return [
    `### Pages of 500 cold records of ${tenant}`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        ...Object.entries(found).map(([kind, { p50, p99 }]) => [
          kind,
          formatMillis(p50),
          formatMillis(p99),
          goal('p50 ≤ 25 ms', p50 <= 25),
        ]),
        ['last ÷ first', formatRatio(ratio), none, goal('≤ 1.25', ratio <= 1.25)],
      ],
    ),
  ].join('\n\n');
}

async function walk(client, path, pages) {
  const cursors = [];
  let next = path;
  while (cursors.length < pages) {
    const { body } = await client.get(next);
    if (body.next_cursor === null || body.data.length < 500) break;
    cursors.push(body.next_cursor);
    next = `${path}&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
  // The last one leads to a page that may not be full.
  cursors.pop();
  return cursors;
}
