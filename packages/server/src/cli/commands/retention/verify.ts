import type { Command } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Client } from '../../client.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker, printObject } from '../../output.ts';
import {
  assertAgrees,
  followVerification,
  printProblems,
  type Verification,
  verificationFields,
} from '../../retention/verifications.ts';

type Options = { tenant?: string; wait: boolean; json?: JsonOption };

export function addRetentionVerify(retention: Command, context: Context): void {
  const command = retention
    .command('verify')
    .summary('check all cold data against the counters')
    .description(
      'Reads every object whole and holds it against the catalogue, the catalogue against the objects, and\nthe counters against both. Changes nothing. Ends with 1 when anything differs, and tells what.',
    )
    .argument('[id]', 'show one that was asked for before, instead of asking for another')
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--no-wait', 'print the verification’s id and leave it at work')
    .option(jsonFlags, jsonHelp)
    .action((id: string | undefined, options: Options) => verify(context, id, options));
  withExamples(command, [
    'svcctl retention verify',
    'svcctl retention verify --tenant TX --json ok,problems',
    'svcctl retention verify vrf_4fTq9Zx7Kq2LmN0p',
  ]);
}

async function verify(context: Context, id: string | undefined, options: Options): Promise<void> {
  const { json, tenant, wait } = options;
  if (id !== undefined && tenant !== undefined) {
    throw new AppError('usage_invalid', { detail: 'Give either an id or --tenant.' });
  }
  picker(json, verificationFields);
  const client = await context.connect();
  const started = await start(client, id, tenant);
  if (!wait && id === undefined) {
    if (json === undefined) await context.out.write(`${started.id}\n`);
    else await print(context, started, json);
    context.hint(`It is at work. Look: svcctl retention verify ${started.id}`);
    return;
  }
  const verification = wait ? await followVerification(context, client, started) : started;
  if (json !== undefined) await print(context, verification, json);
  else await printProblems(context, verification.problems);
  if (verification.state === 'queued' || verification.state === 'running') {
    context.note(`${verification.id} is ${verification.state}.`);
  }
  assertAgrees(context, verification);
}

function start(
  client: Client,
  id: string | undefined,
  tenant: string | undefined,
): Promise<Verification> {
  return id === undefined
    ? client.json('POST /retention/verify', { body: { tenant } })
    : client.json('GET /retention/verify/:id', { params: { id } });
}

function print(context: Context, verification: Verification, json: JsonOption): Promise<void> {
  return printObject(context, JSON.stringify(verification), { json, fields: verificationFields });
}
