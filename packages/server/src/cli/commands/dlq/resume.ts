import { type Command, InvalidArgumentError } from 'commander';
import type { Context } from '../../context.ts';
import { wholeNumber, withExamples } from '../../help.ts';

type Options = { rate?: number | 'none' };

export function addDlqResume(dlq: Command, context: Context): void {
  const command = dlq
    .command('resume')
    .summary('let a held job go on')
    .description(
      'Lets a held job of dlq retry --all go on. --rate changes its pace, also of one that runs.',
    )
    .argument('<job>', 'the job’s id, as svcctl dlq retries prints it')
    .option(
      '--rate <rows>',
      'rows re-armed a second, at most; none = as fast as it goes',
      parseRate,
    )
    .action((id: string, options: Options) => resume(context, id, options));
  withExamples(command, [
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p',
    'svcctl dlq resume rty_4fTq9Zx7Kq2LmN0p --rate 50',
  ]);
}

async function resume(context: Context, id: string, { rate }: Options): Promise<void> {
  const client = await context.connect();
  await client.json('PATCH /webhook/dlq/retries/:id', {
    params: { id },
    body: { state: 'running', rate: rate === 'none' ? null : rate },
  });
  context.note(`${id} goes on. Look: svcctl dlq retries`);
}

function parseRate(text: string): number | 'none' {
  if (text === 'none') return text;
  try {
    return wholeNumber(1)(text);
  } catch {
    throw new InvalidArgumentError('It is neither a whole number from 1 on, nor none.');
  }
}
