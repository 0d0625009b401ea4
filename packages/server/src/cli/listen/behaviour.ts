import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { InvalidArgumentError, Option } from 'commander';
import { spanMillis, wholeNumber } from '../help.ts';
import { type Given, jsonOption, type Own } from '../verb.ts';

const modes = ['ok', 'fail', 'hang', 'slow', 'reset', 'bomb', 'redirect', 'gone', 'flaky'] as const;
type Mode = (typeof modes)[number];

export const listenOptions = [
  ['--port <port>', 'port to listen on (default: a free one)', wholeNumber(0)],
  new Option('--host <address>', 'address to listen on').default('127.0.0.1') as Own<{
    host: string;
  }>,
  ['--secret <secret>', 'whsec_… to check signatures with; - reads it from stdin'],
  ['--register', 'register this receiver as an endpoint of --tenant, and delete it at the end'],
  ['--tenant <tenant>', 'with --register: the tenant'],
  new Option('--mode <mode>', 'what to answer with').choices(modes).default('ok') as Own<{
    mode: Mode;
  }>,
  ['--status <status>', 'HTTP status of the answer (default: 204; fail: 500)', parseStatus],
  ['--fail-first <number>', 'fail so many times, then accept', wholeNumber(0)],
  ['--delay <time>', 'wait before each answer, as 500ms, 2s or 1m', parseDelay],
  ['--once [number]', 'end after one delivery, or so many', wholeNumber(1)],
  jsonOption,
  ['--ndjson', 'print one JSON object a line, as they come'],
] as const;
export type ListenOptions = Given<typeof listenOptions>;

function parseStatus(text: string): number {
  const status = /^[2-5]\d\d$/.test(text) ? Number(text) : 0;
  if (status > 0) return status;
  throw new InvalidArgumentError('It is not a status from 200 to 599.');
}

function parseDelay(text: string): number {
  const millis = spanMillis(text, /^(\d{1,6})(ms|s|m)$/);
  if (millis !== null) return millis;
  throw new InvalidArgumentError('It is not a time such as 500ms, 2s or 1m.');
}

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
