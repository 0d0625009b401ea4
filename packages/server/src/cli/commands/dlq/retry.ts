import type { Command } from 'commander';
import { AppError } from '../../../kernel/errors.ts';
import type { Context } from '../../context.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter } from '../../output.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { addClass, addReach, addStatus } from '../../webhooks/dead-letter-options.ts';
import type { DeliveryRow } from '../../webhooks/deliveries.ts';
import { assertAllDone, tryEachId } from '../../webhooks/each-id.ts';
import type { RetryAllOptions } from '../../webhooks/retry-all.ts';

type Options = RetryAllOptions & { all?: true };

export function addDlqRetry(dlq: Command, context: Context): void {
  const command = dlq
    .command('retry')
    .summary('re-arm failed deliveries, by id or all that match')
    .description(
      'Queues failed deliveries at once, with a fresh budget of attempts; the drainer sends them when it runs.\nWith --all it is a job of the service: first it shows what it would do and asks, then it shows the\nprogress; Ctrl-C leaves the job at work.',
    )
    .argument('[id...]', 'ids, as svcctl dlq ls prints them')
    .option('--all', 'all rows, or those that the options below leave');
  addStatus(command, 'with --all: only pending or only abandoned ones (default: both)');
  addClass(addReach(command))
    .option(
      '--from <time>',
      'only what failed from then on: a time, a day, or a span ago such as 2h',
    )
    .option('--to <time>', 'only what failed up to then')
    .option('--rate <rows>', 'rows re-armed a second, at most', wholeNumber(1))
    .option('--dry-run', 'only show what would be re-armed')
    .option('--yes', 'do not ask')
    .option('--no-wait', 'print the job’s id and leave it at work')
    .option('--json', 'print the rows, or the job, as JSON')
    .action((ids: string[], options: Options) => retry(context, ids, options));
  withExamples(command, [
    'svcctl dlq retry dlv_070t1x2y3Kq2LmN0pAbCdE',
    'svcctl dlq ls --status abandoned --tenant TX | cut -f1 | xargs -r svcctl dlq retry',
    'svcctl dlq retry --all --status abandoned --endpoint ep_4fTq9Zx7Kq2LmN0p --dry-run',
    'svcctl dlq retry --all --status abandoned --from 2h --rate 100 --yes',
  ]);
}

async function retry(context: Context, ids: readonly string[], options: Options): Promise<void> {
  if (ids.length > 0 === (options.all === true)) {
    throw new AppError('usage_invalid', {
      detail: 'Give ids, or --all with what to retry. List them: svcctl dlq ls --status abandoned',
    });
  }
  if (options.all) {
    const { retryAll } = await import('../../webhooks/retry-all.ts');
    await retryAll(context, options);
    return;
  }
  refuseFilters(options);
  await retryEach(context, ids, options);
}

async function retryEach(
  context: Context,
  ids: readonly string[],
  { json }: Options,
): Promise<void> {
  const printer = createRowPrinter<DeliveryRow>(context, {
    columns: [],
    fields: [],
    json: json ?? undefined,
  });
  const client = await context.connect();
  const refused = await tryEachId(context, ids, async (id) => {
    const text = await client.text('POST /webhook/dlq/:id/retry', { params: { id } });
    if (json) await printer.write([text]);
    else {
      const { target } = parseAnswer(text) as DeliveryRow;
      context.note(`Retry queued for ${id} (${target}). The drainer sends it when it runs.`);
    }
  });
  if (json) await printer.end();
  assertAllDone(refused);
}

/** A filter beside ids would seem to narrow them. */
function refuseFilters(options: Options): void {
  const onlyAll = ['status', 'tenant', 'endpoint', 'class', 'from', 'to', 'rate'] as const;
  const given = onlyAll.find((name) => options[name] !== undefined);
  const flag = given ?? (options.dryRun ? 'dry-run' : undefined);
  if (flag === undefined) return;
  throw new AppError('usage_invalid', { detail: `--${flag} goes with --all, not with ids.` });
}
