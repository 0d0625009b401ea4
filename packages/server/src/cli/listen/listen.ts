import { formatMicros } from '../../kernel/instant.ts';
import { numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import { createClient } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { usage } from '../help.ts';
import { createRowPrinter } from '../output.ts';
import { untilAborted } from '../until-aborted.ts';
import { command } from '../verb.ts';
import { shortId } from '../webhooks/deliveries.ts';
import { answerText, isAccepting, type ListenOptions, listenOptions } from './behaviour.ts';
import { type Delivery, parseSecret, startReceiver } from './receiver.ts';

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
  options: listenOptions,
  answers: ['at', 'id', 'type', 'verified', 'fault', 'duplicate', 'bytes', 'answered'],
  notes: modesHelp,
  act: receive,
});

/** Receives webhooks until Ctrl-C, or until the number that `once` asks for has come. */
async function receive(context: Context, options: ListenOptions): Promise<void> {
  const { tenant } = options;
  if (options.register && tenant === undefined) {
    throw usage('--register needs --tenant.');
  }
  if (options.register && options.secret !== undefined) {
    throw usage('Give either --register or --secret.');
  }
  const secret = await findSecret(context, options);
  const report = createReport(context, options);
  const end = new AbortController();
  const ended = untilAborted(AbortSignal.any([context.io.signal, end.signal]));
  const most = options.once === true ? 1 : (options.once ?? Number.POSITIVE_INFINITY);
  let over = 0;
  const receiver = await startReceiver(options, {
    now: context.io.now,
    onDelivery: (delivery) => report.add(delivery),
    onOver: () => {
      over += 1;
      if (over >= most) end.abort();
    },
  });
  try {
    if (secret !== undefined) receiver.setSecret(secret);
    const made =
      options.register && tenant !== undefined
        ? await register(context, receiver.url, tenant)
        : undefined;
    try {
      if (made !== undefined) receiver.setSecret(parseSecret(made.secret));
      const as = made === undefined ? '' : `, as ${made.id} of ${tenant}`;
      context.note(`Listening on ${receiver.url}${as}. Ctrl-C ends it.`);
      await Promise.race([ended, report.broken]);
    } finally {
      await made?.remove();
    }
  } finally {
    await receiver.close();
  }
  await report.end();
}

type Registration = {
  readonly id: string;
  readonly secret: string;
  /** Deletes the endpoint, even after the command was interrupted; one that is gone already is fine. */
  remove(): Promise<void>;
};

/** Registers this receiver as an endpoint of the tenant. */
async function register(context: Context, url: string, tenant: string): Promise<Registration> {
  const client = await context.connect();
  const body = { tenant, url, description: 'svcctl listen' };
  const { id, secret } = await client.json('POST /webhook/endpoints', { body }).catch(explain);
  return {
    id,
    secret,
    async remove() {
      // The command may be ending because its signal has aborted, so this call gets another one.
      const io = { ...context.io, signal: new AbortController().signal };
      const own = createClient(io, client.connection);
      try {
        await own.json('DELETE /webhook/endpoints/:id', { params: { id } });
        context.note(`Deleted ${id}.`);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'endpoint_not_found') return;
        context.note(`${id} is still registered. Delete it: svcctl endpoints delete ${id}`);
        throw error;
      }
    },
  };
}

/** Throws the error, with how to allow it if the service may not send to this machine. */
function explain(error: unknown): never {
  if (error instanceof ApiError && ['target_blocked', 'target_invalid'].includes(error.code)) {
    error.advice.push(
      'The service sends to this machine only if it was started with the address allowed:',
      'SVC_ALLOW_TARGETS=127.0.0.0/8 svcctl serve',
    );
  }
  throw error;
}

async function findSecret(
  context: Context,
  { secret }: ListenOptions,
): Promise<Buffer | undefined> {
  if (secret === undefined) return undefined;
  if (secret !== '-') return parseSecret(secret);
  const { readFirstLine } = await import('../confirm.ts');
  return parseSecret(await readFirstLine(context));
}

type Row = {
  at: string;
  id: string;
  type: string;
  /** Whether the signature is right; null when it was not checked. */
  verified: boolean | null;
  fault: string | null;
  duplicate: boolean;
  bytes: number;
  answered: string;
};

/** Prints deliveries in the order in which they came, and a summary at the end. */
function createReport(context: Context, options: ListenOptions) {
  const { json, ndjson } = options;
  const printer = createRowPrinter<Row>(context, { columns, json, ndjson });
  const sum = { all: 0, verified: 0, unverified: 0, duplicates: 0, accepted: 0 };
  let writing = Promise.resolve();
  let fail: (error: unknown) => void = () => {};
  const broken = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  // Whoever waits for this promise gets the error. Before somebody does, it must not end the process.
  broken.catch(() => {});
  return {
    /** Rejects when the reader of stdout has gone. */
    broken,
    add(delivery: Delivery) {
      sum.all += 1;
      if (delivery.fault === null) sum.verified += 1;
      else if (delivery.fault !== undefined) sum.unverified += 1;
      if (delivery.isDuplicate) sum.duplicates += 1;
      if (isAccepting(delivery.answer)) sum.accepted += 1;
      const text = JSON.stringify(rowOf(delivery));
      writing = writing.then(() => printer.write([text]));
      writing.catch(fail);
    },
    async end() {
      await writing;
      await printer.end();
      const signatures =
        sum.verified + sum.unverified === 0
          ? 'signatures not checked'
          : `${sum.verified} verified, ${sum.unverified} not`;
      context.note(
        [
          numberOf(sum.all, 'delivery', 'deliveries'),
          signatures,
          numberOf(sum.duplicates, 'duplicate'),
          `${sum.accepted} accepted, ${sum.all - sum.accepted} failed`,
        ].join(' · '),
      );
    },
  };
}

function rowOf({ at, id, type, fault, isDuplicate, bytes, answer }: Delivery): Row {
  return {
    at: formatMicros(at * 1000),
    id,
    type,
    verified: fault === undefined ? null : fault === null,
    fault: fault ?? null,
    duplicate: isDuplicate,
    bytes,
    answered: answerText(answer),
  };
}

const { word } = columnsOf<Row>();

/** Widths come from the first row, which here stands alone: the titles keep room for the next ones. */
const columns = [
  word('AT (UTC)', 'at', { shown: (row) => row.at.slice(11, 19) }),
  word('ID'.padEnd(8), 'id', { shown: (row) => shortId(row.id) || '–' }),
  word('SIGNATURE', signatureText),
  word('SEEN'.padEnd('duplicate'.length), (row) => (row.duplicate ? 'duplicate' : 'new')),
  word('ANSWERED', 'answered'),
  word('TYPE', 'type', { shown: (row) => row.type || '–' }),
];

function signatureText({ verified, fault }: Row): string {
  if (verified === null) return 'unchecked';
  return verified ? '✓' : `✗ ${fault}`;
}
