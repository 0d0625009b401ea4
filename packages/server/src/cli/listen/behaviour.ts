import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { JsonOption } from '../output.ts';

/** The answer to one delivery. */
export type Answer = {
  readonly mode: Exclude<Mode, 'flaky' | 'slow'>;
  readonly status: number;
  readonly delayMillis: number;
};

type Arrival = {
  /** The number of the delivery, counted from 1. */
  readonly number: number;
  readonly isDuplicate: boolean;
};

type Told = Pick<ListenOptions, 'mode' | 'status' | 'failFirst' | 'delay'>;

const slowMillis = 5000;
const bombBytes = 64 * 1024 * 1024;

/** Decides how a delivery is answered, by the options and by what came before. */
export function chooseAnswer(told: Told, { number, isDuplicate }: Arrival): Answer {
  const { mode, failFirst } = told;
  const isOver = failFirst !== undefined && number > failFirst;
  if (isOver || (mode === 'flaky' && isDuplicate)) return accept(told);
  switch (mode) {
    case 'ok':
    case 'slow':
      // A status that was asked for is the answer, also to the deliveries that --fail-first makes fail.
      return failFirst === undefined || told.status !== undefined
        ? accept(told, told.status)
        : fail(told);
    case 'fail':
    case 'flaky':
      return fail(told);
    case 'redirect':
      return { ...fail(told), mode, status: redirectStatus(told.status) };
    case 'gone':
      return { ...fail(told), mode, status: 410 };
    case 'bomb':
      return { ...fail(told), mode, status: told.status ?? 200 };
    case 'hang':
    case 'reset':
      return { ...fail(told), mode };
  }
}

/** The word for the answer in the line of a delivery. */
export function answerText({ mode, status }: Answer): string {
  if (mode === 'hang' || mode === 'reset') return mode;
  return mode === 'bomb' ? `${status} bomb` : String(status);
}

/** Whether the service takes this answer as a success. */
export function isAccepting({ mode, status }: Answer): boolean {
  return (mode === 'ok' || mode === 'fail') && status >= 200 && status < 300;
}

/** Sends the answer. Resolves when the exchange is over, whichever side ended it. */
export async function give(
  answer: Answer,
  { response, socket }: { response: ServerResponse; socket: Socket },
  signal: AbortSignal,
): Promise<void> {
  const over = new Promise<void>((resolve) => {
    if (response.closed) resolve();
    else response.once('close', () => resolve());
  });
  await delay(answer.delayMillis, undefined, { signal });
  switch (answer.mode) {
    case 'ok':
    case 'fail':
    case 'gone':
      response.writeHead(answer.status).end();
      break;
    case 'redirect':
      response.writeHead(answer.status, { location: '/elsewhere' }).end();
      break;
    case 'bomb':
      response.writeHead(answer.status, { 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(bombBytes)));
      break;
    case 'reset':
      socket.resetAndDestroy();
      break;
    case 'hang':
      break;
  }
  await over;
}

function accept(told: Told, status = 204): Answer {
  const delayMillis = told.delay ?? (told.mode === 'slow' ? slowMillis : 0);
  return { mode: 'ok', status, delayMillis };
}

function fail(told: Told): Answer {
  return { mode: 'fail', status: told.status ?? 500, delayMillis: told.delay ?? 0 };
}

function redirectStatus(status: number | undefined): number {
  return status !== undefined && status >= 300 && status < 400 ? status : 302;
}

export const modes = [
  'ok',
  'fail',
  'hang',
  'slow',
  'reset',
  'bomb',
  'redirect',
  'gone',
  'flaky',
] as const;
export type Mode = (typeof modes)[number];

export type ListenOptions = {
  port?: number;
  host: string;
  secret?: string;
  register?: true;
  tenant?: string;
  mode: Mode;
  status?: number;
  failFirst?: number;
  /** How long to wait before the answer, in milliseconds. */
  delay?: number;
  once?: number | true;
  json?: JsonOption;
  ndjson?: true;
};

const mostIds = 100_000;

/** Remembers the latest hundred thousand ids, so that a receiver can run for days. */
export function createSeen(most = mostIds): { has(id: string): boolean; add(id: string): void } {
  const ids = new Set<string>();
  return {
    has: (id) => ids.has(id),
    add(id) {
      ids.delete(id);
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > most && oldest !== undefined) ids.delete(oldest);
    },
  };
}
