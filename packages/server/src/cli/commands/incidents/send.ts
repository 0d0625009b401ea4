import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Context } from '../../context.ts';
import { formatNumberOf } from '../../format.ts';
import { required, withExamples } from '../../help.ts';
import { withRetries } from '../../retry.ts';

type Options = {
  tenant?: string;
  type?: string;
  data?: string;
  store?: string;
  occurredAt?: string;
  key?: string;
  json?: true;
};

/** The service takes 256 KiB by default; this only keeps a wrong file out of memory. */
const maxDataBytes = 32 * 1024 * 1024;

export function addIncidentsSend(incidents: Command, context: Context): void {
  const command = incidents
    .command('send')
    .summary('report an incident to the endpoints of its tenant')
    .description(
      'Reports an incident, which is delivered to the endpoints of its tenant that want its type. Prints its id.',
    )
    .option('--tenant <tenant>', 'the tenant (required)')
    .option('--type <type>', 'a dotted name such as incident.created (required)')
    .option('--data <json>', 'JSON, @file, or - for stdin (default: {})')
    .option('--store <store>', 'the store')
    .option('--occurred-at <time>', 'when it happened, as 2026-03-05T14:07:09Z (default: now)')
    .option('--key <key>', 'idempotency key: the same within 30 days gives no second delivery')
    .option('--json', 'print the whole answer as JSON')
    .action((options: Options) => send(context, options));
  withExamples(command, [
    `svcctl incidents send --tenant TX --type incident.created --data '{"score":0.97}'`,
    'svcctl incidents send --tenant TX --type incident.resolved --data @incident.json --key case-812',
    'jq -n ".score=1" | svcctl incidents send --tenant TX --type incident.updated --data -',
  ]);
}

async function send(context: Context, options: Options): Promise<void> {
  const data = await readData(context, options.data ?? '{}');
  const body = {
    tenant: required(options.tenant, '--tenant'),
    type: required(options.type, '--type'),
    data: data.value,
    store: options.store,
    occurred_at: options.occurredAt,
    idempotency_key: options.key,
  };
  const client = await context.connect();
  // To the letter: numbers keep their digits.
  const { data: _value, ...rest } = body;
  const bodyText = `${JSON.stringify(rest).slice(0, -1)},"data":${data.text}}`;
  const post = () => client.json('POST /incidents', { body }, bodyText);
  // Without a key a second try could report it twice.
  const answer = await (options.key === undefined ? post() : withRetries(context.io, post));
  await context.out.write(`${options.json ? JSON.stringify(answer) : answer.id}\n`);
  const count = answer.deliveries?.length ?? 0;
  context.note(
    count === 0
      ? `Accepted. No endpoint of ${body.tenant} wants ${body.type}: nothing to deliver.`
      : `Accepted, with ${formatNumberOf(count, 'delivery', 'deliveries')}. Look: svcctl incidents show ${answer.id}`,
  );
}

async function readData(context: Context, data: string): Promise<{ value: unknown; text: string }> {
  const text = await readText(context, data);
  try {
    return { value: JSON.parse(text), text };
  } catch (cause) {
    const hint = data.startsWith('@') || data === '-' ? '' : ' A file is named as @file.';
    throw new AppError('usage_invalid', {
      detail: `--data: it is not JSON (${(cause as Error).message}).${hint}`,
    });
  }
}

async function readText(context: Context, data: string): Promise<string> {
  if (data.startsWith('@')) {
    const path = resolve(context.io.cwd, data.slice(1));
    try {
      return await readFile(path, 'utf8');
    } catch (cause) {
      const detail = `${path} cannot be read: ${(cause as Error).message}.`;
      throw new AppError('file_unreadable', { detail, cause });
    }
  }
  if (data !== '-') return data;
  const { readStdin } = await import('../../prompt.ts');
  return readStdin(context, maxDataBytes);
}
