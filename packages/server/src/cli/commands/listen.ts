import { InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../help.ts';
import { type Mode, modes } from '../listen/behaviour.ts';
import { command, jsonOption, type Own } from '../verb.ts';

const modesHelp = `
Modes:
  ok        accepts (204)
  fail      answers 500, or --status
  hang      takes the request and never answers
  slow      accepts after 5 s, or --delay
  reset     cuts the connection
  bomb      answers 200 with a small body that inflates to 64 MiB
  redirect  answers 302
  gone      answers 410: the service then disables the endpoint
  flaky     fails the first attempt of each delivery, accepts the second`;

export const listen = command({
  description:
    'Receives webhooks here and prints a line for each: whether its signature is right, whether it came before, and what it was answered. Can be told to fail in the ways that receivers do. Ends with Ctrl-C and a summary.',
  examples: [
    'svcctl listen --register --tenant TX',
    'svcctl listen --register --tenant TX --mode hang --fail-first 3',
    'svcctl listen --port 9000 --secret - --status 503 < secret.txt',
    'svcctl listen --register --tenant TX --once 10 --ndjson',
  ],
  options: [
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
  ],
  answers: ['at', 'id', 'type', 'verified', 'fault', 'duplicate', 'bytes', 'answered'],
  notes: modesHelp,
  async act(context, options) {
    // Loaded only here, because no other command needs an HTTP server.
    await (await import('../listen/listen.ts')).listen(context, options);
  },
});

function parseStatus(text: string): number {
  const status = /^[2-5]\d\d$/.test(text) ? Number(text) : 0;
  if (status > 0) return status;
  throw new InvalidArgumentError('It is not a status from 200 to 599.');
}

const unitMillis: Record<string, number> = { ms: 1, s: 1000, m: 60_000 };

function parseDelay(text: string): number {
  const [, amount, unit] = /^(\d{1,6})(ms|s|m)$/.exec(text) ?? [];
  const millis = Number(amount) * (unitMillis[unit ?? ''] ?? Number.NaN);
  if (millis >= 0) return millis;
  throw new InvalidArgumentError('It is not a time such as 500ms, 2s or 1m.');
}
