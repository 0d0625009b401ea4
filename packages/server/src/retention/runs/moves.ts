import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { cursorAfter, emptyPage, type Page, toKeyset, toPage } from '../../kernel/page.ts';
import { deleteOldJobs } from '../../platform/jobs/queries.ts';
import type { Log } from '../../platform/log.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { MoveRow, retentionContract } from '../contract.ts';
import { toTripleRow } from '../mover/receipt.ts';
import { verifications } from '../verify/queries.ts';
import * as queries from './queries.ts';

export type MovesRequest = Static<typeof retentionContract.listMoves.query>;

/** How many moves a page looks at for its filters, at most. The page may be short while there are more. */
const scanLimit = 10_000;

/** One page of the journal of moves, the latest first. Throws 400 `cursor_invalid`. */
export async function listMoves(
  db: Database,
  actor: Actor,
  request: MovesRequest,
  options: { cursorKey: Buffer; scanLimit?: number },
): Promise<Page<MoveRow>> {
  const { limit, cursor, ...filters } = request;
  const { tenant, kind, state, month, run_id: runId } = filters;
  const scope = { list: 'retention.moves', filters };
  const page = { cursorKey: options.cursorKey, scope, limit, cursor };
  const keyset = toKeyset<queries.MoveKey>(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();

  const tenants = tenant === undefined ? actor.tenants : [tenant];
  const isFiltered = [kind, state, month, runId].some((value) => value !== undefined);
  const scan = {
    ...keyset,
    scanLimit: isFiltered ? (options.scanLimit ?? scanLimit) : keyset.limit,
  };
  // Both statements need one snapshot: a move that is planned in between would move the end of the scan.
  const { rows, scanEnd } = await db.transaction(
    async (connection) => {
      const found = await queries.listMoves(
        connection,
        { tenants, kind, state, month, runId },
        scan,
      );
      const isShort = isFiltered && found.length < scan.limit;
      return {
        rows: found,
        scanEnd: isShort ? await queries.findScanEnd(connection, tenants, scan) : undefined,
      };
    },
    { isolation: 'repeatable read' },
  );
  const { data, next_cursor } = toPage(page, rows, (move) => [move.planned_at, move.id]);
  return { data: data.map(toMoveRow), next_cursor: next_cursor ?? cursorAfter(page, scanEnd) };
}

/** A move of the journal. Throws 404 `move_not_found`. */
export async function getMove(db: Queryable, actor: Actor, id: string): Promise<MoveRow> {
  const isId = /^\w{1,100}$/.test(id);
  const row = isId ? await queries.findMove(db, id, actor.tenants) : undefined;
  if (row !== undefined) return toMoveRow(row);
  throw new AppError('move_not_found', {
    detail: 'The journal has no move of this id. GET /retention/moves lists them.',
  });
}

function toMoveRow({ source, object, gone, ...move }: MoveRow): MoveRow {
  return {
    ...move,
    source: source && toTripleRow(source),
    object: object && toTripleRow(object),
    gone: toTripleRow(gone),
  };
}

const batchRows = 1000;

/**
 * Deletes moves, then runs, and verifications that ended more than `days` days ago, in small batches. The last of each
 * kind stays, of moves the last of each tenant, because they tell how things stand. Erasures that have a receipt
 * stay, moves whose objects still wait for their removal, and runs that have moves.
 */
export async function pruneHistory(
  db: Database,
  { days, log, signal }: { days: number; log: Log; signal: AbortSignal },
): Promise<void> {
  const inBatches = async (work: (batch: { days: number; limit: number }) => Promise<number>) => {
    for (let sum = 0; ; ) {
      signal.throwIfAborted();
      const count = await work({ days, limit: batchRows });
      sum += count;
      if (count < batchRows) return sum;
    }
  };
  const gone = {
    moves: await inBatches((batch) => queries.deleteOldMoves(db, batch)),
    runs: await inBatches((batch) => deleteOldJobs(db, queries.runs, batch)),
    verifications: await inBatches((batch) => deleteOldJobs(db, verifications, batch)),
  };
  if (Object.values(gone).some((count) => count > 0)) {
    log.info({ days, ...gone }, 'old history of retention was pruned');
  }
}
