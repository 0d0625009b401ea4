import { AppError } from '../../kernel/errors.ts';
import { isObjectFault } from '../../platform/objects/objects.ts';
import { inSpoolFolder } from '../../platform/objects/spool.ts';
import {
  type DayTriple,
  listDaysOfSegments,
  readSegmentDays,
  SegmentFault,
  sumTriples,
} from '../../records/segments.ts';
import type { ForgetRequest, Forgotten } from '../contract.ts';
import { doAndUndo, findErasureState, findSegmentOf } from './erase-queries.ts';
import {
  type EraseAct,
  type EraseContext,
  failureOf,
  journalErasure,
  refuseHold,
  waitForTenant,
} from './erase-records.ts';
import { noEffects, tellDays, toTripleRow } from './receipt.ts';
import { resumeMoves, runMove } from './run-move.ts';
import { fetchSegment } from './verify-copy.ts';

type Lost = NonNullable<Awaited<ReturnType<typeof findSegmentOf>>> & {
  readonly days: readonly DayTriple[];
  readonly problem: string;
};

/**
 * Gives up the live segment of an object that is missing or damaged: it leaves the catalogue, and what it held the
 * counters, by a move in the journal. Throws 404 `segment_not_found`, 409 `segment_whole` for an object that is what was
 * written, `tenant_on_hold`, `tenant_busy`, `store_read_only`, `store_fenced`, and 503.
 */
export async function forgetSegment(
  context: EraseContext,
  { object_key: key, dry_run: isDry = false }: ForgetRequest,
  { act, signal }: { act: Omit<EraseAct, 'requestedAt'>; signal: AbortSignal },
): Promise<Forgotten> {
  const { db, onGone, audit } = context;
  const { actor, request } = act;
  const found = await findLost(context, key, { actor, signal });
  if (isDry) {
    const { tenant, days } = found;
    const effects = await db.transaction((connection) =>
      doAndUndo(
        connection,
        async () =>
          (await onGone?.(connection, { tenant, kind: 'delete', days, window: null })) ?? noEffects,
      ),
    );
    return { ...tell(found), versions_changed: effects.versionsChanged };
  }
  await refuseHold(db, found.tenant);
  return waitForTenant(db, found.tenant, {
    waitMillis: context.lockMillis,
    signal,
    async work(own) {
      // A move that has read the object before it was lost may have a copy, and saves the records by its end.
      await resumeMoves(context, found.tenant, { signal: own });
      const lost = await findLost(context, key, { actor, signal: own });
      // A store that is not there at all, such as a disk that is not mounted, is not this database's.
      await context.fence.advance(own);
      const { tenant, first_day: firstDay, last_day: lastDay, days } = lost;
      const told = tell(lost);
      const move = await journalErasure(context, {
        tenant,
        runId: null,
        kind: 'forget',
        firstDay,
        lastDay,
        matches: { hot: [], cold: [{ segment: lost, days }], foundIds: new Set() },
        note: (connection, { id }) =>
          audit(connection, {
            actor,
            request,
            action: 'retention.forget',
            target: id,
            tenant,
            after: { object_key: key, problem: lost.problem, ...told.lost },
          }),
      });
      await runMove(context, move, own);
      const state = await findErasureState(db, move);
      if (state?.state === 'failed') throw failureOf(move, state);
      const versions_changed = state?.effects?.versionsChanged ?? 0;
      return { ...told, id: move.id, dry_run: false, versions_changed };
    },
  });
}

/** Finds the segment, and reads its object to see that it is lost. */
async function findLost(
  context: EraseContext,
  key: string,
  { actor, signal }: Pick<EraseAct, 'actor'> & { signal: AbortSignal },
): Promise<Lost> {
  const { db, duckdb, spoolDir } = context;
  const segment = await findSegmentOf(db, key, actor.tenants);
  if (segment === undefined) {
    throw new AppError('segment_not_found', {
      detail: `No live segment has the object ${key}. A verification names those that are missing or damaged.`,
    });
  }
  const { tenant, id: segment_id } = segment;
  try {
    await inSpoolFolder(spoolDir, async (dir) => {
      const path = await fetchSegment(context, { ...segment, segment_id }, { dir, signal });
      await readSegmentDays(duckdb, { tenant, path, signal });
    });
  } catch (error) {
    if (!isObjectFault(error) && !(error instanceof SegmentFault)) throw error;
    const days = await listDaysOfSegments(db, tenant, [segment_id]);
    return { ...segment, days, problem: error.message };
  }
  throw new AppError('segment_whole', {
    detail: `The object ${key} is what was written. To let its records go, erase them: POST /enrichment/erase.`,
  });
}

function tell({ tenant, object_key, problem, days }: Lost): Forgotten {
  return {
    id: null,
    dry_run: true,
    tenant,
    object_key,
    problem,
    lost: toTripleRow(sumTriples(days)),
    days: tellDays(days),
    versions_changed: 0,
  };
}
