import { readBothTiers, type Snapshot } from './both-tiers.ts';
import { readHotRows } from './hot-rows.ts';
import type { RowForm } from './row-form.ts';
import type { TierRows } from './tier-rows.ts';

/** The rows of a slice in a form, from whatever tiers they lie in. */
export async function readRows(
  snapshot: Snapshot,
  form: RowForm,
  isHot: boolean,
): Promise<TierRows> {
  if (isHot) return readHotRows(snapshot.connection, snapshot.slice, form);
  return readBothTiers(snapshot, form);
}
