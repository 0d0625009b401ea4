import { setTimeout } from 'node:timers/promises';
import type { Actor } from '../../kernel/actor.ts';
import { AppError, type ErrorCode } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Audit, Caller } from '../../platform/audit.ts';
import type { ObjectReader } from '../../platform/objects/objects.ts';
import type { Connection, Database, Queryable } from '../../platform/postgres/database.ts';
import { busy } from '../../platform/work/session-lock.ts';
import type { EraseReceipt, EraseRemain } from '../contract.ts';
import { findDueDays } from '../policies/queries.ts';
import {
  type ErasureState,
  findErasureState,
  findReceipt,
  type GoneIncidents,
  saveReceipt,
} from './erase-queries.ts';
import { findMatches, type Matches } from './find-matches.ts';
import { journalMove, newSegment, type PlannedMove } from './journal.ts';
import type { Move, MoverContext } from './move.ts';
import { withTenantLock } from './move-tenant.ts';
import {
  dryReceipt,
  foretell,
  noEffects,
  noMatches,
  receiptOf,
  tellKey,
  tellOnce,
} from './receipt.ts';
import { endKey } from './remove-keys.ts';
import { resumeMoves, runMove } from './run-move.ts';
import { type EraseScope, takesWholeDays, toJournal } from './scope.ts';
import { scrubTexts, textsLeft } from './scrub.ts';

export type EraseContext = MoverContext & {
  readonly objects: ObjectReader;
  readonly audit: Audit;
  /** How long to wait for another mover that works on the tenant. */
  readonly lockMillis: number;
};

/** Who asked for an erasure, when, and why. */
export type EraseAct = Caller & { readonly requestedAt: string; readonly reason?: string | null };

/**
 * Erases records in both tiers and returns the receipt. `onJournalled` is called with the receipt so far as soon as the
 * erasure is in the journal: from then on it happens, even if the process is killed. Where no record matches, the receipt
 * is stored by then, and the pages of texts are still to be scrubbed.
 *
 * Throws 409 `tenant_on_hold`, `tenant_busy`, `store_fenced`, 500 `segment_damaged`, 503. After an error the journal
 * tells whether the erasure goes on by itself.
 */
export async function eraseRecords(
  context: EraseContext,
  scope: EraseScope,
  job: {
    act: EraseAct;
    signal: AbortSignal;
    /** Is awaited once the matches are known, and answers what else remains. */
    onFound: (matches: Matches) => Promise<EraseRemain[]>;
    /** Is awaited last before the erasure is journalled. Its receipt is stored by then, as one of no record. */
    onBegun?: ((matches: Matches, id: string) => Promise<void>) | undefined;
    onJournalled: (receipt: EraseReceipt) => void;
    /** What the receipt says of incidents until some have gone; left out where none are to go. */
    begun?: GoneIncidents | undefined;
  },
): Promise<EraseReceipt> {
  await refuseHold(context.db, scope.tenant);
  return waitForTenant(context.db, scope.tenant, {
    waitMillis: context.lockMillis,
    signal: job.signal,
    async work(signal) {
      // A killed process may have left a move that has copied the records which are to be erased now, so its moves are
      // finished first. A move that cannot go on, because another database has the store, will find its source changed
      // and drop its copy.
      await resumeMoves(context, scope.tenant, { signal });
      const matches = await findMatches(context, scope, signal);
      // Hot records can be erased whichever database has the store.
      if (matches.cold.length > 0) await context.fence.advance(signal);
      const effects = await foretell(context, scope, matches);
      const { act, begun } = job;
      const remains = await job.onFound(matches);
      const id = newId(daysOf(matches).length > 0 ? 'mov' : 'ers');
      const known = { id, dry_run: false, remains };
      if (job.onBegun !== undefined) {
        const none = dryReceipt(scope, noMatches, { act, effects: noEffects });
        await saveReceipt(context.db, { ...none, ...known }, begun);
        await job.onBegun(matches, id);
      }
      const planned = { ...dryReceipt(scope, matches, { act, effects }), ...known };
      const { move, receipt } = await journal(context, { scope, matches, planned, act, begun });
      if (move === null && takesWholeDays(scope)) return receipt;
      job.onJournalled(receipt);
      if (move === null) await scrubTexts(context, receipt, signal);
      else await runMove(context, move, signal);
      return readReceipt(context.db, receipt);
    },
  });
}

/** Throws 409 `tenant_on_hold` while the tenant is under legal hold. `shownAs` is the name in the message. */
export async function refuseHold(db: Queryable, tenant: string, shownAs = tenant): Promise<void> {
  if (!(await isOnHold(db, tenant))) return;
  throw new AppError('tenant_on_hold', {
    detail: `${shownAs} is under legal hold: nothing of it may be erased. PUT /retention/policies/:tenant lifts a hold.`,
  });
}

/** Whether the tenant is under legal hold. */
export async function isOnHold(db: Queryable, tenant: string): Promise<boolean> {
  return (await findDueDays(db, tenant)).hold;
}

/** Reads a receipt again, as it is now. Throws an error when the journal says that the erasure has failed. */
export async function readReceipt(db: Queryable, asked: EraseReceipt): Promise<EraseReceipt> {
  const { tenant, id, not_found } = asked;
  const { receipt, state } = await findErasure(db, id ?? '', [tenant]);
  if (state?.state === 'failed') throw failureOf(receipt, state);
  return { ...receipt, not_found };
}

/** Answers a stored receipt, as it is now. Throws 404 `erasure_not_found`. */
export async function getErasure(db: Queryable, actor: Actor, id: string): Promise<EraseReceipt> {
  return (await findErasure(db, id, actor.tenants)).receipt;
}

async function findErasure(db: Queryable, id: string, tenants: readonly string[] | null) {
  const planned = /^\w{1,100}$/.test(id) ? await findReceipt(db, id, tenants) : undefined;
  if (planned === undefined) {
    throw new AppError('erasure_not_found', {
      detail:
        'No erasure has this id. The audit log names those of its tenants: records.erase, or incidents.erase where it broke off.',
    });
  }
  const state = await findErasureState(db, { tenant: planned.tenant, id });
  const told = { ...planned, remains: tellOnce(planned.remains) };
  return { receipt: tellKey(state === undefined ? told : receiptOf(planned, state)), state };
}

/** The error of whoever asked for a move that has failed. */
export function failureOf(
  { id }: { id: string | null },
  { error_code, error }: Pick<ErasureState, 'error_code' | 'error'>,
): AppError {
  return new AppError(faultCodes[error_code ?? ''] ?? 'internal_error', {
    detail: `No record was erased (${id} in the journal of moves). ${error}`,
  });
}

const faultCodes: Readonly<Record<string, ErrorCode>> = {
  segment_damaged: 'segment_damaged',
  tenant_on_hold: 'tenant_on_hold',
  out_of_memory: 'cold_tier_unavailable',
};

/** Journals the erasure; without a move when no record matches. Its receipt is stored and audited in either case. */
async function journal(
  context: EraseContext,
  {
    scope,
    matches,
    planned,
    act,
    begun,
  }: {
    scope: EraseScope;
    matches: Matches;
    planned: EraseReceipt & { id: string };
    act: EraseAct;
    begun: GoneIncidents | undefined;
  },
): Promise<{ move: Move | null; receipt: EraseReceipt }> {
  const note = async (connection: Connection, receipt: EraseReceipt) => {
    await saveReceipt(connection, receipt, begun);
    await noteErasure(connection, context.audit, { scope, receipt, act });
  };
  const days = daysOf(matches);
  const [firstDay, lastDay] = [days[0], days.at(-1)];
  if (firstDay === undefined || lastDay === undefined) {
    const texts = takesWholeDays(scope) ? [] : textsLeft;
    const remains = tellOnce([...texts, ...planned.remains]);
    const receipt = { ...planned, erased_at: planned.requested_at, remains };
    await context.db.transaction(async (connection) => {
      await note(connection, receipt);
      await endKey(context, connection, { scope, id: receipt.id });
    });
    return { move: null, receipt };
  }
  const receipt: EraseReceipt = { ...planned, state: 'planned' };
  const move = await journalErasure(context, {
    id: planned.id,
    tenant: scope.tenant,
    runId: null,
    kind: 'erase',
    firstDay,
    lastDay,
    request: toJournal(scope),
    matches,
    note: (connection) => note(connection, receipt),
  });
  return { move, receipt };
}

/** The days of all that was found, in order. */
function daysOf({ hot, cold }: Matches): string[] {
  return [...hot, ...cold.flatMap((found) => found.days)].map(({ day }) => day).sort();
}

/**
 * Writes the audit entry. It holds the number of event ids but not the ids, and of a subject only the field, because the
 * audit log must not remember who was erased. The reason stands there as it was given.
 */
export async function noteErasure(
  db: Queryable,
  audit: Audit,
  { scope, receipt, act }: { scope: EraseScope; receipt: EraseReceipt; act: EraseAct },
): Promise<void> {
  const { tenant, store, from, to, eventIds, subject } = scope;
  const { erased, hot_count, cold_count, reason } = receipt;
  const event_ids = eventIds?.length ?? null;
  await audit(db, {
    actor: act.actor,
    request: act.request,
    action: 'records.erase',
    target: receipt.id,
    tenant,
    after: {
      store,
      from,
      to,
      event_ids,
      ...erased,
      hot_count,
      cold_count,
      ...(subject === null ? {} : { subject_field: subject.field }),
      ...(reason === null ? {} : { reason }),
    },
  });
}

const pauseMillis = 250;

/** Does as `withTenantLock` does, but waits for its turn. Throws 409 `tenant_busy` when that does not come in time. */
export async function waitForTenant<T>(
  db: Database,
  tenant: string,
  options: { waitMillis: number; signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
): Promise<T> {
  for (let leftMillis = options.waitMillis; ; leftMillis -= pauseMillis) {
    const result = await withTenantLock(db, tenant, options);
    if (result !== busy) return result;
    if (leftMillis <= 0) break;
    await setTimeout(pauseMillis, undefined, { signal: options.signal });
  }
  throw new AppError('tenant_busy', {
    detail: `Data of ${tenant} is being moved, and nothing was changed. Ask again in a minute.`,
    retryAfterSeconds: 60,
  });
}

type Erasure = Omit<PlannedMove, 'kind' | 'in' | 'out'> & {
  readonly kind: 'delete' | 'erase' | 'forget';
  readonly matches: Matches;
};

/** Journals a move that lets records go. Each segment read may need a new one; names not needed are struck later. */
export function journalErasure(
  context: MoverContext,
  { matches, ...erasure }: Erasure,
): Promise<Move> {
  const { tenant } = erasure;
  const touched = matches.cold
    .map(({ segment: { id: segment_id, ...segment } }) => ({ segment_id, ...segment }))
    .sort((a, b) => (a.segment_id < b.segment_id ? -1 : 1));
  const ids = touched.map(() => newId('seg')).sort();
  const renewed = touched.map(({ first_day: firstDay, last_day: lastDay }, index) =>
    newSegment({ tenant, firstDay, lastDay }, ids[index]),
  );
  return journalMove(context, { ...erasure, in: touched, out: renewed });
}
