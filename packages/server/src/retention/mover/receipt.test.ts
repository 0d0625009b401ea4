import { expect, test } from 'vitest';
import type { GoneEffects } from '../../records/segments.ts';
import type { ErasureState } from './erase-queries.ts';
import { dryReceipt, leftAnyway, noEffects, noMatches, receiptOf, tellOnce } from './receipt.ts';

const scope = { tenant: 'T', store: null, from: null, to: null, eventIds: null, subject: null };
const at = '2026-03-05T14:07:09.000000Z';

/** What the receipt of an erasure with these effects says of where files were fetched to. */
function downloadsOf(effects: GoneEffects): string | undefined {
  const planned = dryReceipt(scope, noMatches, { act: { requestedAt: at }, effects: noEffects });
  const state: ErasureState = {
    ...{ state: 'switched', gone_count: 1, gone_bytes: 1, gone_digest: '1', switched_at: at },
    ...{ error_code: null, error: null, objects_removed_after: null, scrub_due: null },
    ...{ scrubbed: null, effects },
  };
  return receiptOf(planned, state).remains.find(({ what }) => what === 'downloads')?.note;
}

test('says which files were fetched when and by whom, twenty by name', () => {
  const file = (n: number) => ({ id: `exp_${n}`, name: `f${n}.csv`, at, by: ['bot', 'ops'] });
  const downloads = Array.from({ length: 22 }, (_, n) => file(n));
  const note = downloadsOf({ ...noEffects, downloads });
  expect(note).toContain(
    'f0.csv (exp_0), by bot, ops, last at 2026-03-05T14:07:09.000000Z; f1.csv',
  );
  expect(note).toMatch(/f19\.csv [^;]+ and 2 more\.$/);
  expect(downloadsOf({ ...noEffects, downloads: [] })).toBeUndefined();
  expect(downloadsOf(noEffects)).toBeUndefined();
});

test('tells once what holds of the whole service, and all that parts of it tell of their own', () => {
  const own = (['incidents', 'incidents', 'hot_pages', 'hot_pages', 'conditions'] as const).map(
    (what, index) => ({ what, until: null, note: `note ${index}` }),
  );
  const last = leftAnyway(false);
  expect(tellOnce([...leftAnyway(), ...own, ...last])).toEqual([...own, ...last]);
});
