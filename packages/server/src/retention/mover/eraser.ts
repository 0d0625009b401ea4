import { setTimeout } from 'node:timers/promises';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import type { Clock } from '../../kernel/clock.ts';
import { AppError, isDatabaseAway } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros } from '../../kernel/instant.ts';
import { numberOf } from '../../kernel/values.ts';
import type { Foreseen, HttpServer } from '../../platform/http/server.ts';
import { mayPass } from '../../platform/objects/s3-errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import {
  type EraseReceipt,
  type EraseRequest,
  type ForgetRequest,
  type Forgotten,
  retentionContract,
} from '../contract.ts';
import { type GoneIncidents, setIncidents } from './erase-queries.ts';
import {
  type EraseAct,
  type EraseContext,
  eraseRecords,
  getErasure,
  noteErasure,
  readReceipt,
  refuseHold,
} from './erase-records.ts';
import { findMatches, type Matches } from './find-matches.ts';
import { forgetConditions } from './forget-conditions.ts';
import { forgetSegment } from './forget-segment.ts';
import { dryReceipt, foretell, noEffects, noMatches } from './receipt.ts';
import { endKey, removeDueKeys } from './remove-keys.ts';
import { createRunning } from './running.ts';
import { type EraseScope, mayTakeAll, toScope } from './scope.ts';

export function addEraseRoutes(
  http: HttpServer,
  eraser: Pick<Eraser, 'erase' | 'foresee' | 'forget'>,
): void {
  http.route(retentionContract.planErasure, ({ body, actor, request }) =>
    eraser.erase({ actor, request }, { ...body, dry_run: true }),
  );
  http.route(
    retentionContract.eraseRecords,
    ({ body, actor, request }) => eraser.erase({ actor, request }, body),
    ({ body, actor, request }) => eraser.foresee({ actor, request }, body),
  );
  http.route(retentionContract.forgetSegment, ({ body, actor, request }) =>
    eraser.forget({ actor, request }, body),
  );
}

/** Erases what incidents tell, which this feature does not know. */
type IncidentEraser = {
  /** What a receipt says before any have gone. */
  readonly begun: GoneIncidents;
  /** Says what would be erased. */
  plan(scope: EraseScope, signal: AbortSignal): Promise<ErasedIncidents>;
  /** Tells `note` what has gone so far, in each transaction in which some go, and `onGone` how many once it is over. */
  erase(
    caller: Pick<EraseAct, 'actor' | 'request'>,
    scope: EraseScope,
    job: { receipt: string; signal: AbortSignal; note: NoteGone; onGone: (count: number) => void },
  ): Promise<void>;
};
type OnBegun = (matches: Matches, id: string) => Promise<void>;
type ToGo = { begun?: GoneIncidents; onBegun?: OnBegun };
type NoteGone = (db: Queryable, gone: GoneIncidents) => Promise<void>;
type ErasedIncidents = NonNullable<EraseReceipt['incidents']>;

export type EraserOptions = Omit<EraseContext, 'lockMillis'> & {
  readonly incidents: IncidentEraser;
  readonly clock: Clock;
  /** How long an erasure waits for another mover of the tenant; 10 s by default. */
  readonly lockMillis?: number;
  /** An erasure that takes longer is answered with the receipt so far, and goes on; 20 s by default. */
  readonly answerMillis?: number;
};

/** Erases records on request. */
export type Eraser = {
  /** Erases records, or with `dry_run` says what would be erased. Throws what `eraseRecords` throws. */
  erase(act: Omit<EraseAct, 'requestedAt'>, request: EraseRequest): Promise<EraseReceipt>;
  /** Says what an erasure would take. Throws 409 `tenant_on_hold`. */
  foresee(act: Omit<EraseAct, 'requestedAt'>, request: EraseRequest): Promise<Foreseen>;
  /** Gives up a segment whose object is lost. Throws what `forgetSegment` throws. */
  forget(act: Omit<EraseAct, 'requestedAt'>, request: ForgetRequest): Promise<Forgotten>;
  /** Stops the erasures that run. Those in the journal are finished by the next mover of their tenant. */
  stop(): Promise<void>;
};

export function createEraser(options: EraserOptions): Eraser {
  const { clock, lockMillis = 10_000, answerMillis = 20_000 } = options;
  const context: EraseContext = { ...options, lockMillis };
  const running = createRunning();
  const { signal } = running;

  async function eraseNow(act: EraseAct, scope: EraseScope, incidents: ToGo = {}) {
    let tellJournalled = (_planned: EraseReceipt) => {};
    const journalled = new Promise<EraseReceipt>((resolve) => {
      tellJournalled = resolve;
    });
    const requestId = act.request.id;
    const onFound = (matches: Matches) =>
      forgetConditions(context.db, scope, { ...matches, requestId });
    const job = { act, signal, onFound, ...incidents, onJournalled: tellJournalled };
    const work = eraseRecords(context, scope, job);
    const ended = new AbortController();
    let isAnswered = false;
    const settled = work
      // If the caller still waits, the caller is told of the error instead.
      .catch((error: unknown) =>
        isAnswered ? tellBrokenOff(context.log, scope.tenant, error, signal.aborted) : undefined,
      )
      .finally(() => ended.abort());
    running.add(settled);
    const waited = setTimeout(answerMillis, undefined, { signal: ended.signal, ref: false });
    const asItStands = Promise.all([journalled, waited]).then(([planned]) =>
      readReceipt(context.db, planned),
    );
    // When the receipt cannot be read because the work has just ended, the work itself answers.
    const receipt = await Promise.race([work, asItStands.catch(() => work)]);
    isAnswered = true;
    return receipt;
  }

  /** Erases records and incidents. */
  async function eraseBoth(act: EraseAct, scope: EraseScope): Promise<EraseReceipt> {
    const { begun } = options.incidents;
    let gone = 0;
    const eraseIncidents = (whose: EraseScope, receipt: string) =>
      options.incidents.erase(act, whose, {
        ...{ receipt, signal },
        async note(db, went) {
          await setIncidents(db, receipt, went);
          await endKey(context, db, { scope: whose, id: receipt });
        },
        onGone(count) {
          gone = count;
        },
      });
    if (scope.subject === null) {
      // Incidents come last: an error of the records then says truly that nothing went.
      const { id, not_found } = await eraseNow(act, scope, { begun });
      await eraseIncidents(scope, id ?? '');
      return { ...(await getErasure(context.db, act.actor, id ?? '')), not_found };
    }
    // Incidents that only name an event of the subject are found by its records, and so go before these.
    const onBegun: OnBegun = (matches, id) => eraseIncidents(withEvents(scope, matches), id);
    return eraseNow(act, scope, { begun, onBegun }).catch((error: unknown) => {
      throw tellGone(error, gone);
    });
  }

  const eraser: Eraser = {
    foresee: (act, body) =>
      foreseeErasure(body, async () => {
        if (mayTouchTenant(act.actor, body.tenant)) await refuseHold(context.db, body.tenant);
        return eraser.erase(act, { ...body, dry_run: true });
      }),
    async erase({ actor, request }, body) {
      const scope = toScope(body);
      const requestedAt = formatMicros(clock() * 1000);
      const { dry_run: isDry = false, incidents: hasIncidents = false, reason = null } = body;
      const act = { actor, request, requestedAt, reason };
      if (!mayTouchTenant(actor, scope.tenant)) {
        const receipt = await refuseSilently(context, { act, scope, body });
        return hasIncidents ? { ...receipt, incidents: noIncidents } : receipt;
      }
      if (isDry) {
        const incidents = hasIncidents ? options.incidents : null;
        return plan(context, scope, { act, incidents, signal });
      }
      const receipt = await (hasIncidents ? eraseBoth(act, scope) : eraseNow(act, scope));
      return removeKeyOf(context, receipt, { actor, signal });
    },
    forget(act, body) {
      const work = forgetSegment(context, body, { act, signal });
      running.add(work);
      return work;
    },
    stop: () => running.stop(),
  };
  return eraser;
}

/** Says what would be erased; `incidents` is null unless they go, too. */
async function plan(
  context: EraseContext,
  scope: EraseScope,
  how: { act: EraseAct; incidents: IncidentEraser | null; signal: AbortSignal },
): Promise<EraseReceipt> {
  const { act, incidents, signal } = how;
  const matches = await findMatches(context, scope, signal);
  const effects = await foretell(context, scope, matches);
  const receipt = dryReceipt(scope, matches, { act, effects });
  if (incidents === null) return receipt;
  return { ...receipt, incidents: await incidents.plan(withEvents(scope, matches), signal) };
}

/** Removes the key of the tenant's backups, if it is to go; where that fails, a process of retention does it. */
async function removeKeyOf(
  context: EraseContext,
  receipt: EraseReceipt,
  { actor, signal }: { actor: Actor; signal: AbortSignal },
): Promise<EraseReceipt> {
  const { id, tenant, not_found } = receipt;
  if (context.removeKeys === undefined || id === null) return receipt;
  const { backup_key } = await getErasure(context.db, actor, id);
  if (backup_key !== 'due') return receipt;
  await removeDueKeys(context, signal).catch((error: unknown) =>
    context.log.warn({ err: error, tenant }, 'the key of backups could not be removed yet'),
  );
  return { ...(await getErasure(context.db, actor, id)), not_found };
}

async function foreseeErasure(
  body: EraseRequest,
  plan: () => Promise<EraseReceipt>,
): Promise<Foreseen> {
  const { tenant } = body;
  if (body.dry_run === true) return { acts: [], tenant, says: '', about: null };
  const receipt = await plan();
  const about = { erased: receipt.erased, incidents: receipt.incidents?.count ?? null };
  return { acts: ['erase'], tenant, says: sentenceOf(body, receipt), about };
}

/** What an erasure takes, without what would tell of whom. */
function sentenceOf({ subject }: EraseRequest, plan: EraseReceipt): string {
  const { tenant, store, from, to, incidents, erased } = plan;
  const parts = [
    `Erases ${numberOf(erased.count, 'record')} of ${tenant}`,
    ...(store === null ? [] : [`store ${store}`]),
    ...(from === null ? [] : [`${from} to ${to}`]),
    ...(subject === undefined ? [] : [`found by ${subject.field}`]),
    ...(incidents === null ? [] : [`and ${numberOf(incidents.count, 'incident')}`]),
  ];
  return `${parts.join(', ')}.`;
}

/** It stands in the journal. The end of this process and an outage are no faults of it. */
function tellBrokenOff(
  log: EraseContext['log'],
  tenant: string,
  error: unknown,
  hasEnded: boolean,
) {
  const text = 'an erasure broke off, and the next mover of its tenant finishes it';
  if (hasEnded) log.info({ tenant }, text);
  else if (mayPass(error) || isDatabaseAway(error)) log.warn({ err: error, tenant }, text);
  else log.error({ err: error, tenant }, text);
}

/** Says with the error of the records that incidents of their subject had gone by then. */
function tellGone(error: unknown, count: number): unknown {
  if (!(error instanceof AppError) || count === 0) return error;
  const { code, detail, retryAfterSeconds } = error;
  return new AppError(code, {
    detail: `${detail} That is of the records: before them ${numberOf(count, 'incident')} of the subject went.`,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    cause: error,
  });
}

/** The scope by which incidents are found: those of a subject have its value, or the id of one of its events. */
function withEvents(scope: EraseScope, { foundIds }: Matches): EraseScope {
  if (scope.subject === null) return scope;
  return { ...scope, eventIds: [scope.subject.value, ...foundIds] };
}

const noIncidents: ErasedIncidents = { count: 0, cancelled: 0, answers: 0, keys: 0 };

/** Answers of a tenant out of reach as of one without records under the default policy, so that nothing is learnt. */
async function refuseSilently(
  context: EraseContext,
  { act, scope, body }: { act: EraseAct; scope: EraseScope; body: EraseRequest },
): Promise<EraseReceipt> {
  const { db, audit } = context;
  const planned = dryReceipt(scope, noMatches, { act, effects: noEffects });
  if (body.dry_run === true) return planned;
  await refuseHold(db, '*', scope.tenant);
  const { requested_at: erased_at } = planned;
  const isKeyGone = context.removeKeys !== undefined && mayTakeAll(scope);
  const backup_key = isKeyGone ? ('removed' as const) : null;
  const receipt = { ...planned, id: newId('ers'), dry_run: false, erased_at, backup_key };
  await db.transaction((connection) => noteErasure(connection, audit, { scope, receipt, act }));
  return receipt;
}
