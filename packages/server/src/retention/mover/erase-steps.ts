import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '../../platform/postgres/database.ts';
import {
  type DayTriple,
  dayKey,
  type Gone,
  hotTriple,
  type LockedDay,
  listDaysOfSegments,
  replaceSegments,
  type StoreDay,
  spansOf,
  subtractTriples,
  sumByDay,
  sumTriples,
  writeSegmentFromSegments,
} from '../../records/segments.ts';
import { deleteHotMatches, forgetRequest, queueScrub } from './erase-queries.ts';
import { MoveFault } from './fail.ts';
import { findHot, keepFilter, matchFile } from './find-matches.ts';
import type { Copied, KindSteps, Move, MoverContext, MoveSegment, MoveWork } from './move.ts';
import { listKeepers, queueRemovals } from './queries.ts';
import { endKey } from './remove-keys.ts';
import { type EraseScope, fromJournal, goneOf, scopeOfDays, takesWholeDays } from './scope.ts';
import { scrub } from './scrub.ts';
import { fetchSegment } from './verify-copy.ts';

/** The steps of a move that lets records go: what stays of a segment is written anew, hot records go in the switch. */
function eraseSteps(
  kind: Gone['kind'],
  scopeOf: (move: Move) => EraseScope,
): Pick<KindSteps, 'copy' | 'switch' | 'gone'> {
  return {
    gone: (move, days) => goneOf(kind, scopeOf(move), days),

    async copy(context, work) {
      const scope = scopeOf(work.move);
      const files: { segment_id: string; path: string }[] = [];
      const days: DayTriple[] = [];
      // Which new segment belongs to which old one does not matter; both lists are in the order of their ids, so that a
      // second try pairs them the same way.
      for (const [index, segment] of work.in.entries()) {
        const target = work.out[index];
        if (target === undefined) throw new Error(`the move ${work.move.id} has too few segments`);
        const kept = await copyKept(context, work, { scope, segment, target });
        files.push(...kept.files);
        days.push(...kept.days);
      }
      return { files, days: [...sumByDay(days).values()] };
    },

    async switch(connection, { work, segments }) {
      const scope = scopeOf(work.move);
      return replaceSegments(connection, {
        tenant: work.move.tenant,
        add: segments,
        remove: work.in.map(({ segment_id }) => segment_id),
        hotDays: await findHot(connection, scope, { signal: work.signal }),
        removeHot: (locked) => removeHotMatches(connection, scope, locked),
        isErasing: true,
      });
    },
  };
}

/**
 * Writes what stays of a segment. What that must be is computed apart, so that a copy that loses a record is found out.
 */
async function copyKept(
  context: MoverContext,
  { move, dir, signal }: MoveWork,
  { scope, segment, target }: { scope: EraseScope; segment: MoveSegment; target: MoveSegment },
): Promise<Copied> {
  const { db, duckdb } = context;
  const before = await listDaysOfSegments(db, move.tenant, [segment.segment_id]);
  // What goes whole need not be read, and so not even be there.
  if (takesWholeDays(scope) && before.every((day) => isDayInScope(scope, day))) {
    return { files: [], days: [] };
  }
  const source = await fetchSegment(context, segment, { dir, signal });
  const going = sumByDay((await matchFile(duckdb, { path: source, scope, signal })).days);
  const days = before
    .map((day) => {
      const gone = going.get(dayKey(day));
      return gone === undefined ? day : { ...day, ...subtractTriples(day, gone) };
    })
    .filter(({ count }) => count !== 0);
  if (days.length === 0) return { files: [], days };
  const path = join(dir, `${target.segment_id}.parquet`);
  const { count, bytes } = sumTriples(days);
  const rowCount = sumTriples(before).count;
  const filter = await keepFilter(duckdb, { path: source, rowCount, scope, signal });
  await writeSegmentFromSegments(duckdb, {
    paths: [source],
    filter,
    target: path,
    count,
    bytes,
    signal,
  });
  // The fetched copies of all segments together could fill the disk.
  await rm(source, { force: true });
  return { files: [{ segment_id: target.segment_id, path }], days };
}

const steps = eraseSteps('erase', fromJournal);

/**
 * The longest that replaced objects of an erasure stay: erased data must go soon, and a slow reader has its file open.
 */
const maxGraceSeconds = 60;

/** An erasure: records leave for good because somebody asked for it. */
export const eraseKind: KindSteps = {
  ...steps,

  async switch(connection, switching) {
    const { context, work } = switching;
    // These are queued first: the first to queue an object decides how long it is kept, and the switch of every kind
    // queues them, too.
    await queueRemovals(connection, work.move, {
      keys: work.in.map(({ object_key }) => object_key),
      graceSeconds: Math.min(maxGraceSeconds, context.graceSeconds),
    });
    const gone = await steps.switch(connection, switching);
    await queueScrub(connection, work.move, gone);
    await endKey(context, connection, { scope: fromJournal(work.move), id: work.move.id });
    await forgetRequest(connection, work.move);
    return gone;
  },

  cleanUp: (context, { move, signal }) => scrub(context, move, signal),
};

/** A deletion: whole days leave for good because the policy says so. */
export const deleteKind: KindSteps = {
  ...eraseSteps('delete', ({ tenant, first_day, last_day }) =>
    scopeOfDays(tenant, first_day, last_day),
  ),

  async refuse(connection, move, { lastDeleteDay }) {
    if (lastDeleteDay === null || move.last_day > lastDeleteDay) {
      const kept = lastDeleteDay === null ? 'for ever' : `after ${lastDeleteDay}`;
      throw new MoveFault('not_due', `The policy keeps days ${kept} by now. Nothing was deleted.`);
    }
    await refuseVersioned(connection, move);
  },
};

/** A segment whose object is lost leaves catalogue and counters. No policy is asked: nothing is left to keep. */
export const forgetKind: KindSteps = {
  copy: async () => ({ files: [], days: [] }),

  switch: (connection, { work }) =>
    replaceSegments(connection, {
      tenant: work.move.tenant,
      add: [],
      remove: work.in.map(({ segment_id }) => segment_id),
      isErasing: true,
    }),

  // Only what the segment held is gone, whatever else there is of its days.
  gone: ({ tenant }, days) => ({ tenant, kind: 'delete', days, window: null }),
};

/** Refuses days that a version froze since they were planned; none can be frozen until this transaction ends. */
async function refuseVersioned(connection: Connection, move: Move): Promise<void> {
  if (isTold(move)) return;
  const { tenant, first_day: firstDay, last_day: lastDay } = move;
  const names = await listKeepers(connection, { tenant, firstDay, lastDay });
  if (names.length === 0) return;
  throw new MoveFault(
    'kept_by_version',
    `The dataset version ${names.join(', ')} has days from ${firstDay} to ${lastDay} by now. Nothing was deleted; the next run leaves out its days.`,
  );
}

/** What the journal stores (moves.request) when days of versions are deleted, too. */
export type DeleteRequest = { readonly delete_versioned: true };

function isTold({ request }: Move): boolean {
  return typeof request === 'object' && request !== null && 'delete_versioned' in request;
}

/**
 * Deletes hot records by the scope, so also those that came since the plan, and returns their triples by store and day.
 */
async function removeHotMatches(
  connection: Connection,
  scope: EraseScope,
  locked: readonly LockedDay[],
): Promise<DayTriple[]> {
  const gone: DayTriple[] = [];
  const hot = locked
    .filter((day) => isDayInScope(scope, day))
    .map((day) => ({ store: day.store, day: day.day, count: hotTriple(day).count }))
    .filter(({ count }) => count > 0);
  for (const span of spansOf(hot)) {
    gone.push(...(await deleteHotMatches(connection, scope, span)));
  }
  return gone;
}

function isDayInScope({ store, from, to }: EraseScope, day: StoreDay): boolean {
  if (store !== null && day.store !== store) return false;
  if (from !== null && day.day < from) return false;
  return to === null || day.day <= to;
}
