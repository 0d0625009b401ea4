import { inTurn, mapValues, summary } from '../lib/measure.mjs';
import { formatMillis, markdownTable, ratioCells } from '../lib/table.mjs';
import { tenantName } from './shape.mjs';

/** A tenant and a month for the i-th request. 7,919 is prime, so that many tenants come before one comes again. */
export function place({ tenants }, i) {
  return {
    tenant: tenantName(1 + ((i * 7919) % (tenants - 1))),
    month: `${2021 + (i % 5)}-${String(1 + (i % 12)).padStart(2, '0')}`,
  };
}

/**
 * A table of the times of some requests or tasks, in turn of the small and of the large world. Each case is a title and
 * what is done in a world the i-th time, which answers its milliseconds.
 *
 * @param {{ small: any, large: any }} worlds
 * @param {[string, (world: any, i: number) => Promise<number>][]} cases
 * @param {number} rounds
 * @param {{ warmups?: number }} options
 */
export async function compareTimes({ small, large }, cases, rounds, { warmups = 5 } = {}) {
  const rows = [];
  for (const [title, work] of cases) {
    const ways = mapValues({ small, large }, (world) => (i) => work(world, i));
    const found = mapValues(await inTurn(ways, rounds, { warmups }), summary);
    const compared = (name) => [
      ...[found.small[name], found.large[name]].map(formatMillis),
      ...ratioCells(found.large[name] / found.small[name], '≤ 1.3'),
    ];
    rows.push([title, ...compared('p50'), ...compared('p99')]);
  }
  const titles = '|small p50:|large p50:|ratio:|goal|small p99:|large p99:|ratio:|goal';
  return markdownTable(titles.split('|'), rows);
}
