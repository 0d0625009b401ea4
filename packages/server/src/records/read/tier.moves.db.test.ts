import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import type { PageRequest } from './pages.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, walk } from './testing/walk.ts';

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);

const label = fc.option(
  fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => !/[\0\u{1}\u{1F}]/u.test(text)),
);
const event = fc.record({
  store: fc.constantFrom('A', 'a', '\u{1F600}', '\u{FFFD}'),
  event_id: fc
    .string({ unit: 'binary', minLength: 1, maxLength: 6 })
    .filter((text) => !/\p{Cc}/u.test(text)),
  day: fc.constantFrom('2001-01-31', '2001-02-01', '2001-02-02'),
  micros: fc.constantFrom('000000', '000001', '999999'),
  kind: label,
  source: label,
  enrichment: fc.dictionary(fc.string({ maxLength: 4 }), fc.string({ unit: 'binary' }), {
    maxKeys: 2,
  }),
});
const events = fc.uniqueArray(event, {
  selector: ({ store, event_id, day, micros }) => [store, day, micros, event_id].join('/'),
  minLength: 1,
  maxLength: 30,
});
const moves = fc.array(
  fc.record({
    lastDay: fc.constantFrom('2001-01-31', '2001-02-01', '2001-02-02'),
    part: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);

test('random records give the same pages wherever random moves put them', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(events, moves, fc.integer({ min: 2, max: 9 }), async (list, layout, limit) => {
      run += 1;
      const tenant = `random ${run}`;
      const sent = list.map(({ day, micros, enrichment, ...rest }) => ({
        tenant,
        ...rest,
        occurred_at: `${day}T12:00:00.${micros}Z`,
        enrichment: JSON.parse(JSON.stringify(enrichment).replaceAll('\\u0000', '')),
      }));
      await ingest(db, cold, [sent]);
      const kind = list[0]?.kind;
      const asked: PageRequest[] = [
        { tenant, limit },
        { tenant, limit, order: 'desc', month: '2001-02' },
        { tenant, limit, ...(typeof kind === 'string' && { kind }) },
        { tenant, limit, event_id: list[0]?.event_id ?? '' },
      ];
      const walkAll = () => Promise.all(asked.map((request) => walk(records, request)));
      const hot = await walkAll();
      for (const [n, { lastDay, part }] of layout.entries()) {
        const filter = part === 3 ? {} : { filter: `hash(event_id) % 3 = ${part}` };
        await freeze(db, cold, { tenant, lastDay, id: `seg_random_${run}_${n}`, ...filter });
        expect(await walkAll()).toEqual(hot);
      }
    }),
    { numRuns: runs(4) },
  );
});
