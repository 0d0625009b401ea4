import type { Actor } from '../../kernel/actor.ts';
import { compareText } from '../../kernel/names.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/segment.ts';
import type { TenantSliceRequest } from '../slice/slice.ts';
import type { Facts } from '../tags.contract.ts';
import type { SampleSize } from './pick-days.ts';
import { fittingShare } from './read-fields.ts';
import { readSample, type Sample } from './read-sample.ts';

export const usualSize: SampleSize = { records: 10_000, places: 20, mostPlaces: 200, keysEach: 10 };

/** Returns the kinds, sources and models of a slice. Throws 400 `request_invalid` or 500 `segment_damaged`. */
export async function readFacts(
  tiers: { db: Database; cold: ColdReader },
  actor: Actor,
  request: TenantSliceRequest,
  size = usualSize,
): Promise<Facts> {
  const sample = await readSample(tiers, actor, request, { size, textBytes: 0 });
  const { count } = sample;
  const records = sample.records.filter(({ fits }) => fits);
  return {
    count,
    sampled: records.length,
    is_exact: sample.records.length === count,
    fitting: request.where === undefined ? null : fittingShare(sample),
    kinds: topValues(records, 'kind'),
    sources: topValues(records, 'source'),
    models: topValues(records, 'model'),
  };
}

const shownValues = 20;

/** Returns the most frequent values of a label, then null for the records without one. */
function topValues(records: Sample['records'], label: 'kind' | 'source' | 'model'): Facts['kinds'] {
  const counts = new Map<string | null, number>();
  for (const { [label]: value } of records) counts.set(value, (counts.get(value) ?? 0) + 1);
  const without = counts.get(null);
  const values = [...counts]
    .flatMap(([value, count]) => (value === null ? [] : [{ value, count }]))
    .sort((a, b) => b.count - a.count || compareText(a.value, b.value))
    .slice(0, shownValues);
  return without === undefined ? values : [...values, { value: null, count: without }];
}
