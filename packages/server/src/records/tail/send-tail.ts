import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, callerOf } from '../../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../../kernel/cursor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { createSharedBudget } from '../../kernel/gate.ts';
import { formatMicros, instantFault, parseInstant } from '../../kernel/instant.ts';
import type { NoteRead } from '../../platform/audit.ts';
import { ReaderGone, watchCaller, write } from '../../platform/http/long-answer.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Log } from '../../platform/log.ts';
import { translateDatabaseError } from '../../platform/postgres/errors.ts';
import { rest } from '../../platform/work/repeat.ts';
import type { RecordRow } from '../queries.ts';
import { recordJson } from '../read/pages.ts';
import { isOutOfReach, type TenantSlice, toSlice } from '../slice/slice.ts';
import { type TailRequest, tailContract } from '../tail.contract.ts';
import { findLastStored, isForgotten, type Place } from './queries.ts';
import type { StoredSource } from './read-stored.ts';
import { createSharedTail, type SharedTail } from './tail.ts';

export type TailWaits = {
  /** A reader that takes nothing for so long is dropped. */
  readonly stallMillis: number;
  /** The place is told after so long without a record: it keeps proxies from ending the connection. */
  readonly quietMillis: number;
};

const places = { total: 64, each: 16 };

type Options = { cursorKey: () => Buffer; log: Log; waits: TailWaits; noteRead: NoteRead };

/** Adds the route that tells records as they are stored. */
export function addTailRoute(http: HttpServer, source: StoredSource, options: Options): void {
  const { cursorKey, log, waits, noteRead } = options;
  const budget = createSharedBudget(places);
  const stopping = new AbortController();
  const shared = createSharedTail(source, { stopping: stopping.signal, log });
  http.fastify.addHook('preClose', async () => stopping.abort());
  http.route(tailContract.tailRecords, async ({ query, actor, request, reply, recheck }) => {
    const own = budget.of(callerOf(actor));
    if (!own.take(1)) {
      throw new AppError('tails_busy', {
        detail: `At once run at most ${places.total} tails, and ${places.each} of one token or of the tokens limited to the same tenants. Close one, or try again later.`,
        retryAfterSeconds: 5,
      });
    }
    try {
      const call = { query, actor, request, cursorKey };
      const { scope, ...begun } = await noteRead(call, { by: 'tail', ...query }, () =>
        beginTail(source, call),
      );
      // The head alone tells whether a tail could begin.
      if (request.method === 'HEAD') return reply.type(eventStream).send('');
      const tail: Tail = {
        ...begun,
        waits,
        log,
        shared,
        isFollowing: query.follow !== false,
        idOf: (at) => encodeCursor(cursorKey(), scope, { direction: 'next', key: at }),
      };
      await answerTail({ request, reply, recheck }, tail, stopping.signal);
      return reply;
    } finally {
      own.give(1);
    }
  });
}

const eventStream = 'text/event-stream; charset=utf-8';

type Call = {
  readonly query: TailRequest;
  readonly actor: Actor;
  readonly request: FastifyRequest;
};

type Tail = {
  readonly slice: TenantSlice;
  readonly shared: SharedTail;
  /** Whether the caller may see the tenant; otherwise it looks like one of which nothing is stored. */
  readonly isReached: boolean;
  readonly isFollowing: boolean;
  readonly idOf: (place: Place) => string;
  readonly waits: TailWaits;
  readonly log: Log;
  /** How far the reader was told. */
  place: Place;
};

/** So long before now begins the tail of a tenant of which nothing was stored: no part takes as long to commit. */
const longestPartMillis = 3_600_000;

/** Finds out where a tail begins. Throws 400 `request_invalid`, `cursor_invalid`, 410 `tail_place_gone`. */
async function beginTail(
  { db }: StoredSource,
  { query, actor, request, cursorKey }: Call & { cursorKey: () => Buffer },
): Promise<Pick<Tail, 'slice' | 'isReached' | 'place'> & { scope: CursorScope }> {
  const { follow: _, after, since, ...filters } = query;
  const { tenant } = filters;
  const slice = { ...toSlice(filters, actor, '?'), tenant };
  const scope: CursorScope = { list: 'tail', filters };
  const isReached = !isOutOfReach(slice, actor);
  const received = request.headers['last-event-id'] || after;
  if (after !== undefined && since !== undefined) {
    throw invalidInput('?since', 'goes without after');
  }
  const asked: Place | null =
    typeof received === 'string'
      ? (decodeCursor(cursorKey(), scope, received).key as unknown as Place)
      : since === undefined
        ? null
        : [readTime(since)];
  if (asked === null) {
    const last = isReached ? await findLastStored(db, tenant) : undefined;
    const place: Place = [last ?? formatMicros((Date.now() - longestPartMillis) * 1000)];
    return { slice, scope, isReached, place };
  }
  if (isReached && (await isForgotten(db, tenant, asked[0]))) {
    throw new AppError('tail_place_gone', {
      detail:
        'What was stored after this place more than 24 hours ago is not told any more. Page through the records (GET /enrichment/records), and begin a tail anew.',
    });
  }
  return { slice, scope, isReached, place: asked };
}

function readTime(text: string): string {
  const micros = parseInstant(text);
  if (micros === null) throw invalidInput('?since', `must be a time: ${instantFault(text)}`);
  return formatMicros(micros);
}

/** Tells what is stored until either side ends it, and says why it ends if the service does. */
async function answerTail(
  {
    request,
    reply,
    recheck,
  }: { request: FastifyRequest; reply: FastifyReply; recheck: () => Promise<unknown> },
  tail: Tail,
  stopping: AbortSignal,
): Promise<void> {
  const response = reply.raw;
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, stopping]);
  const onClose = () => ending.abort(new ReaderGone('the reader hung up'));
  response.on('close', onClose);
  const endWatch = watchCaller(recheck, (error) => ending.abort(error));
  reply.hijack();
  // Nginx would gather events until its buffer is full.
  response.writeHead(200, { 'content-type': eventStream, 'x-accel-buffering': 'no' });
  try {
    await tellStored(response, tail, signal);
    if (stopping.aborted) throw new AppError('not_ready', { detail: stops });
    if (ending.signal.aborted) throw ending.signal.reason;
    response.end();
  } catch (error) {
    const reason = endOf(ending.signal.aborted ? ending.signal.reason : error);
    const level = reason.code === 'internal_error' ? 'error' : 'info';
    tail.log[level]({ err: error, reqId: request.id, code: reason.code }, 'a tail ended');
    const end = { code: reason.code, detail: reason.detail, after: tail.idOf(tail.place) };
    // It is sent once the reader reads again; the connection is closed if that takes too long.
    if (!response.destroyed) response.end(`event: end\ndata: ${JSON.stringify(end)}\n\n`);
  } finally {
    endWatch();
    response.off('close', onClose);
  }
}

const stops = 'This process is stopping. Go on with another, or in a second with this one.';

/** Why a tail ends, as its reader is told. */
function endOf(error: unknown): AppError {
  const known = translateDatabaseError(error);
  if (known instanceof AppError) return known;
  if (!(error instanceof ReaderGone)) return new AppError('internal_error');
  return new AppError('tail_slow', {
    detail:
      'The reader took nothing for too long. Go on after this place, or page through the records.',
  });
}

/** Returns when all was told that is stored, if it need not be followed, or when the signal aborts. */
async function tellStored(
  response: ServerResponse,
  tail: Tail,
  signal: AbortSignal,
): Promise<void> {
  const { slice, shared, waits } = tail;
  let toldAt = performance.now();
  const tell = async (text: string) => {
    await write(response, text, waits.stallMillis);
    toldAt = performance.now();
  };
  const here = () => `id: ${tail.idOf(tail.place)}\nevent: place\ndata: {}\n\n`;
  // The place is told from the beginning, so whoever is cut before the first record loses none.
  await tell(here());
  while (!signal.aborted) {
    const page = tail.isReached
      ? await shared.read(slice, tail.place)
      : { rows: [], end: tail.place, isUpToDate: true };
    if (signal.aborted) return;
    const events = page.rows
      .filter(({ record }) => isWanted(slice, record))
      .map(({ record, place }) => eventOf(tail.idOf(place), record));
    // A reader that does not read gets this page all the same once it does, and then hears why it was dropped.
    tail.place = page.end;
    if (events.length > 0) await tell(events.join(''));
    // What is stored may fit nothing for hours: whoever is cut then need not begin before all of it.
    else if (performance.now() - toldAt > waits.quietMillis) await tell(here());
    if (!page.isUpToDate) continue;
    if (!tail.isFollowing) return tell(here());
    if (!(await isNews(tail, signal)) && !signal.aborted) await tell(here());
  }
}

/** Waits for what is stored next. False when it was quiet for too long, or the signal has aborted. */
async function isNews(
  { shared, slice, place, isReached, waits }: Tail,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isReached) {
    await rest(waits.quietMillis, signal);
    return false;
  }
  const quiet = new AbortController();
  const timer = setTimeout(() => quiet.abort(), waits.quietMillis);
  timer.unref();
  const either = AbortSignal.any([signal, quiet.signal]);
  await shared.untilNews(slice.tenant, place, either);
  clearTimeout(timer);
  return !either.aborted;
}

function isWanted({ kind, source, eventId }: TenantSlice, record: RecordRow): boolean {
  return (
    (kind === undefined || record.kind === kind) &&
    (source === undefined || record.source === source) &&
    (eventId === undefined || record.event_id === eventId)
  );
}

/** A record as an event. JSON may be spread over lines, each of which is a line of data of its own. */
function eventOf(id: string, record: RecordRow): string {
  const lines = recordJson(record).split(/\r\n|\r|\n/);
  return `id: ${id}\n${lines.map((line) => `data: ${line}\n`).join('')}\n`;
}
