import type { AppError } from '../kernel/errors.ts';
import type { ApiError } from './api-error.ts';
import { type Client, type RouteQuery, target } from './client.ts';
import type { Context } from './context.ts';
import { openAnswer } from './exports/open-answer.ts';
import { parseAnswer } from './parse-answer.ts';
import { isBusy, isUnreachable } from './retry.ts';
import { Broken } from './send.ts';

type Tail = {
  readonly query: RouteQuery<'GET /enrichment/records/tail'>;
  /** Gets the records as they come, as the service wrote them. */
  readonly onRows: (rows: readonly string[]) => Promise<void>;
};

/** How long a tail that was cut waits before it goes on. */
const waitsSeconds = [1, 1, 2, 5, 10];

/**
 * Follows the records of a slice until the signal aborts, or with `follow: false` until all was told that is stored.
 * Whatever cuts it and may pass, it goes on behind the last record that `onRows` has taken. Returns the cursor with which
 * another tail goes on. Throws what the service refuses, and what the first call of a service throws that is away.
 */
export async function followTail(
  context: Context,
  client: Client,
  { query, onRows }: Tail,
): Promise<string | undefined> {
  const { io } = context;
  const { signal } = io;
  let after = query.after;
  let failures = 0;
  let hasBegun = false;
  while (!signal.aborted) {
    let reason = 'the service ended the stream';
    try {
      const since = after === undefined ? query.since : undefined;
      const asked = target('GET /enrichment/records/tail', { query: { ...query, since, after } });
      const answer = await openAnswer(io, client.connection, asked);
      if (failures > 0) context.note('It goes on.');
      [hasBegun, failures] = [true, 0];
      let isEnded = false;
      for await (const events of readEvents(answer.pieces)) {
        const rows = events.flatMap(({ name, data }) => (name === 'message' ? [data] : []));
        if (rows.length > 0) await onRows(rows);
        after = events.findLast(({ id }) => id !== undefined)?.id ?? after;
        const end = events.find(({ name }) => name === 'end');
        if (end === undefined) continue;
        isEnded = true;
        reason = String((parseAnswer(end.data) as { detail?: string }).detail);
      }
      if (!isEnded && query.follow === false) return after;
    } catch (error) {
      if (signal.aborted) return after;
      if (!hasBegun || !mayPass(error)) throw error;
      reason = error instanceof Broken ? error.message : error.detail;
    }
    const seconds = waitsSeconds[Math.min(failures, waitsSeconds.length - 1)] ?? 1;
    if (failures === 0) context.note(`The tail was cut: ${reason} Trying to go on …`);
    failures += 1;
    await io.sleep(seconds * 1000, signal).catch(() => {});
  }
  return after;
}

function mayPass(error: unknown): error is Broken | AppError | ApiError {
  return error instanceof Broken || isUnreachable(error) || isBusy(error);
}

type StreamEvent = {
  readonly id: string | undefined;
  readonly name: string;
  readonly data: string;
};

/**
 * The server-sent events of an answer, those of a piece together. The service ends lines with a line feed alone.
 */
async function* readEvents(pieces: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    if (blocks.length > 0) yield blocks.map(readEvent);
  }
}

function readEvent(block: string): StreamEvent {
  const fields: Record<string, string[]> = {};
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w*):? ?(.*)$/s.exec(line) ?? [];
    fields[name] = [...(fields[name] ?? []), value];
  }
  const { id, event, data } = fields;
  return { id: id?.at(-1), name: event?.at(-1) ?? 'message', data: data?.join('\n') ?? '' };
}
