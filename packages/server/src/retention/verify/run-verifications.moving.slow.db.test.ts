import pino from 'pino';
import { expect, test } from 'vitest';
import { newId } from '../../kernel/ids.ts';
import { findJob } from '../../platform/jobs/queries.ts';
import { unpaced } from '../../platform/work/pace.ts';
import { removeObjects } from '../mover/run-move.ts';
import { addRecords, type TestRecord, useTestMover } from '../mover/testing/test-mover.ts';
import { insertVerification, withProblems } from './queries.ts';
import { runOpenVerifications } from './run-verifications.ts';

// A verification beside the mover itself.
const mover = useTestMover();

const recordsOf = (day: string, events: readonly number[]): TestRecord[] =>
  ['AUS', 'DFW'].flatMap((store) =>
    events.map((event) => ({
      tenant: 'TX',
      store,
      occurred_at: `${day}T00:0${event}:00.000000Z`,
      event_id: `e${event}`,
      enrichment: `{"event":${event}}`,
    })),
  );

async function findDifferences(): Promise<unknown> {
  const id = newId('vrf');
  const scope = { tenant: null, tenants: null, since: null, sample_percent: null };
  await insertVerification(mover.db, { id, ...scope, requestedBy: 'test' });
  const { db, duckdb, store: objects } = mover;
  const log = pino({ level: 'silent' });
  const context = { db, duckdb, objects, spoolDir: '/nowhere', log, pace: unpaced };
  await runOpenVerifications(context, new AbortController().signal);
  const row = await findJob(db, withProblems, { id, reach: null });
  return { state: row?.state, error: row?.error, problems: row?.problems };
}

test('at every transition of moves and merges, also of late records, nothing differs', async () => {
  const clean = { state: 'completed', error: null, problems: [] };
  const seen: string[] = [];
  const context = {
    onTransition: async (to: string, when: string, move: { kind: string }) => {
      seen.push(`${move.kind} ${when} ${to}`);
      expect(await findDifferences(), seen.at(-1)).toEqual(clean);
    },
  };
  for (const [events, day] of [
    [[1, 2, 3], '2001-01-05'],
    [[4, 5], '2001-01-06'],
    [[6, 7], '2001-01-05'],
  ] as const) {
    await addRecords(mover.db, recordsOf(day, events));
    expect(await mover.move('TX', '2001-01-31', context)).toMatchObject({ failedMoves: 0 });
  }
  for (const kind of ['move', 'compact']) {
    for (const to of ['copied', 'verified', 'switched']) {
      expect(seen).toContain(`${kind} before ${to}`);
      expect(seen).toContain(`${kind} after ${to}`);
    }
  }
  expect(await removeObjects(mover.context(), new AbortController().signal)).toBeGreaterThan(0);
  expect(await findDifferences()).toEqual(clean);
});
