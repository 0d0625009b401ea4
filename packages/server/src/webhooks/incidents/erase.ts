import type { Static } from 'typebox';
import type { Audit } from '../../platform/audit.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { erasedIncidentsSchema, incidentReceiptSchema } from '../contract.ts';
import { type CountDelta, shiftCounts } from '../dead-letters/queries.ts';
import { eraseAnswers, erasePayloads, lockIncidents } from '../queries.ts';
import * as queries from './erase-queries.ts';

type Erased = Static<typeof erasedIncidentsSchema>;
type Remain = Static<typeof incidentReceiptSchema>['remains'][number];
type Caller = Pick<Parameters<Audit>[1], 'actor' | 'request'>;

/** What incidents lose by an erasure, and what of them remains. */
type IncidentErasure = { erased: Erased; remains: Remain[] };
type NoteGone = (db: Queryable, gone: IncidentErasure) => Promise<void>;
type EraseOptions = {
  receipt: string;
  signal: AbortSignal;
  note: NoteGone;
  onGone: (count: number) => void;
};
type Gone = { readonly erased: Erased; readonly kept: Kept };

/** So many incidents are read at once: their payloads may have 25 MiB. */
const pageSize = 100;

/**
 * Erases incidents, for the feature that erases other data of the same persons. `deliveryDays`: rows are kept so long.
 */
export function createIncidentEraser(
  db: Database,
  { audit, deliveryDays }: { audit: Audit; deliveryDays: number },
) {
  return {
    begun: { erased: noneErased(), remains: [unfinished] },
    async plan(scope: queries.IncidentScope, signal: AbortSignal): Promise<Erased> {
      let erased = noneErased();
      for await (const ids of matches(db, scope, signal)) {
        const counts = await queries.countErasable(db, ids);
        erased = sum(erased, { count: ids.length, ...counts });
      }
      return erased;
    },
    /**
     * Erases them in batches. `note` is told what has gone so far in the transaction in which it goes, as is the audit log,
     * so that neither a failure nor a kill leaves it uncounted; to ask again erases the rest. `receipt` is the id of what
     * `note` writes. `onGone` is told how many have gone once that is committed.
     */
    async erase(
      { actor, request }: Caller,
      scope: queries.IncidentScope,
      { receipt, signal, note, onGone }: EraseOptions,
    ): Promise<void> {
      const { store, from, to, eventIds, tenant } = scope;
      const act = { actor, request, action: 'incidents.erase', target: receipt, tenant };
      const write = (where: Queryable, erased: Erased) =>
        audit(where, {
          ...act,
          after: { store, from, to, event_ids: eventIds?.length ?? null, ...erased },
        });
      const untouched = store === null ? [] : [withoutStore];
      const tell = (where: Queryable, { erased, kept }: Gone, left: readonly Remain[]) =>
        note(where, { erased, remains: [...remainsOf(erased, kept), ...untouched, ...left] });
      let gone: Gone = { erased: noneErased(), kept: noneKept };
      await db.transaction(async (connection) => {
        // What somebody else has confirmed is marked so before anything goes, because the batches commit by themselves.
        await request.settle?.(connection);
        await tell(connection, gone, [unfinished]);
      });
      for await (const ids of matches(db, scope, signal)) {
        gone = await db.transaction(async (connection) => {
          const batch = await eraseBatch(connection, ids);
          const more = await queries.findKept(connection, ids, deliveryDays);
          await write(connection, batch.erased);
          const erased = sum(gone.erased, batch.erased);
          const now = { erased, kept: longest(gone.kept, { ...batch, ...more }) };
          await tell(connection, now, [unfinished]);
          return now;
        });
        onGone(gone.erased.count);
      }
      await db.transaction(async (connection) => {
        // That nothing matched is on record as well.
        if (gone.erased.count === 0) await write(connection, gone.erased);
        await tell(connection, gone, []);
      });
    },
  };
}

/** Erases one incident. `write` puts the act on record, in the transaction that does it. */
export async function eraseIncident(
  db: Database,
  id: string,
  options: { deliveryDays: number; write: (db: Queryable, erased: Erased) => Promise<void> },
): Promise<IncidentErasure> {
  return db.transaction(async (connection) => {
    const batch = await eraseBatch(connection, [id]);
    await options.write(connection, batch.erased);
    const kept = await queries.findKept(connection, [id], options.deliveryDays);
    return {
      erased: batch.erased,
      remains: remainsOf(batch.erased, longest(noneKept, { ...batch, ...kept })),
    };
  });
}

type Batch = { erased: Erased; underWayUntil: string | null };

/**
 * Erases payloads, the texts of idempotency keys and answers; times, sizes and states stay. What waits is cancelled;
 * what could be retried stays a dead letter of which nothing can be sent. Must be called in a transaction of its own.
 */
export async function eraseBatch(db: Queryable, ids: readonly string[]): Promise<Batch> {
  const keys = await queries.eraseKeys(db, ids);
  await lockIncidents(db, ids);
  await erasePayloads(db, ids, { unlessNeeded: false });
  const stopped = await queries.stopDeliveries(db, ids);
  // The attempts that ended before their deliveries were stopped are logged by now, and no later one keeps its answer.
  const answers = await eraseAnswers(db, { incidentIds: ids });
  await shiftCounts(db, stopped.flatMap(countsOf));
  const cancelled = stopped.filter(({ status }) => status !== 'abandoned').length;
  const erased = { count: ids.length, cancelled, answers, keys };
  return { erased, underWayUntil: latest(stopped.map((row) => row.leased_until)) };
}

function countsOf(row: queries.StoppedRow): CountDelta[] {
  const { endpoint_id: endpointId, tenant, status, failure_class: failureClass } = row;
  if ((status !== 'pending' && status !== 'abandoned') || failureClass === null) return [];
  const out = { endpointId, tenant, status, failureClass, delta: -1 };
  return status === 'pending' ? [out] : [out, { ...out, failureClass: 'erased', delta: 1 }];
}

async function* matches(
  db: Queryable,
  scope: queries.IncidentScope,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const eventIds = scope.eventIds === null ? null : new Set(scope.eventIds);
  let after: queries.ScopeRow | undefined;
  do {
    signal.throwIfAborted();
    const page = await queries.listOfScope(db, scope, { after, limit: pageSize });
    after = page.length < pageSize ? undefined : page.at(-1);
    const found = eventIds === null ? page : page.filter((row) => mentionsEvent(row, eventIds));
    if (found.length > 0) yield found.map((row) => row.id);
  } while (after !== undefined);
}

function noneErased(): Erased {
  return { count: 0, cancelled: 0, answers: 0, keys: 0 };
}

function sum(one: Erased, other: Erased): Erased {
  return {
    count: one.count + other.count,
    cancelled: one.cancelled + other.cancelled,
    answers: one.answers + other.answers,
    keys: one.keys + other.keys,
  };
}

/** Until when something of erased incidents is kept; null: nothing is. Dead letters stay until they are purged. */
type Kept = {
  keysUntil: string | null;
  rowsUntil: string | null;
  underWayUntil: string | null;
  hasDeadLetters: boolean;
};

const noneKept: Kept = {
  keysUntil: null,
  rowsUntil: null,
  underWayUntil: null,
  hasDeadLetters: false,
};

/** What is kept of one more batch, too. One value holds for all: there may be many thousands of batches. */
function longest(kept: Kept, batch: Pick<Batch, 'underWayUntil'> & queries.KeptOfErased): Kept {
  return {
    keysUntil: latest([kept.keysUntil, batch.keys_until]),
    rowsUntil: latest([kept.rowsUntil, batch.rows_until]),
    underWayUntil: latest([kept.underWayUntil, batch.underWayUntil]),
    hasDeadLetters: kept.hasDeadLetters || batch.rows_until === null,
  };
}

function latest(times: readonly (string | null)[]): string | null {
  return times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
}

/** An incident need not name its store, so whoever asks for one store has to know what was not looked at. */
const withoutStore: Remain = {
  what: 'incidents',
  until: null,
  note: 'Incidents that name no store were not looked at. Leave the store out to erase those, too.',
};

/** Stands in the receipt until all have gone, and so after an erasure that broke off. */
const unfinished: Remain = {
  what: 'incidents',
  until: null,
  note: 'Not all of them may have gone: they are at work still, or that broke off, and to erase once more takes the rest.',
};

/** What an erasure of incidents cannot take away at once, or at all. */
function remainsOf(erased: Erased, kept: Kept): Remain[] {
  if (erased.count === 0) return [];
  const { keysUntil, rowsUntil, underWayUntil, hasDeadLetters } = kept;
  const remains: Remain[] = [
    {
      what: 'incidents',
      until: hasDeadLetters ? null : rowsUntil,
      note: `That the incidents were: their ids, types, times and sizes, and the state of each delivery.${hasDeadLetters ? ' Some are dead letters, which stay until they are purged.' : ''}`,
    },
    { what: 'receivers', until: null, note: 'What was delivered before is with its receivers.' },
    {
      what: 'hot_pages',
      until: null,
      note: 'Rows as they were before may leave bytes in the tables of incidents, their keys and their attempts, until PostgreSQL has vacuumed them and new rows take their place.',
    },
  ];
  if (keysUntil !== null) {
    remains.push({
      what: 'keys',
      until: keysUntil,
      note: 'A hash of each idempotency key, so that a replay of its report is known and sends nothing.',
    });
  }
  if (underWayUntil !== null) {
    remains.push({
      what: 'attempts',
      until: underWayUntil,
      note: 'Attempts that were under way may still reach their receivers. No answer of theirs is stored.',
    });
  }
  remains.push(
    {
      what: 'wal',
      until: null,
      note: 'PostgreSQL’s log (pg_wal) has what was written lately, until its segments are written over.',
    },
    {
      what: 'backups',
      until: null,
      note: 'Backups, archived WAL and disk snapshots have what they had, until they are removed there.',
    },
  );
  return remains;
}

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Whether an incident is about an event: its payload, read as text, has the id, or its key has it as a word. */
export function mentionsEvent(
  { body, key }: { body: string | null; key: string | null },
  eventIds: ReadonlySet<string>,
): boolean {
  if (key !== null && wordsOf(key).some((word) => eventIds.has(word))) return true;
  for (const [token] of (body ?? '').matchAll(tokens)) {
    const text = token.startsWith('"') ? stringOf(token) : token;
    if (eventIds.has(text)) return true;
  }
  return false;
}

function stringOf(token: string): string {
  return token.includes('\\') ? JSON.parse(token) : token.slice(1, -1);
}

/** All parts of a key that begin and end at its ends or beside a separator: of `a:b-c`, `b`, `b-c` and `a:b` among them. */
function wordsOf(key: string): string[] {
  const cuts = [...key.matchAll(/[^A-Za-z0-9]/g)].map(({ index }) => index);
  const starts = [0, ...cuts.map((at) => at + 1)];
  const ends = [...cuts, key.length];
  return starts.flatMap((start) =>
    ends.filter((end) => end > start).map((end) => key.slice(start, end)),
  );
}
