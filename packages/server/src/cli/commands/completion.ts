import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { withExamples } from '../help.ts';
import { printable } from '../table.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export function fillCompletion(command: Command, context: Context, program: Command): void {
  command
    .description('Prints a script that completes commands, options, and the names of tenants.')
    .addArgument(command.createArgument('<shell>', 'the shell').choices(shells))
    .action((shell: (typeof shells)[number]) => printScript(program, context, shell));
  withExamples(command, [
    'source <(svcctl completion bash)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is zsh's
    'svcctl completion zsh > "${fpath[1]}/_svcctl"',
    'svcctl completion fish > ~/.config/fish/completions/svcctl.fish',
  ]);
}

async function printScript(
  program: Command,
  context: Context,
  shell: (typeof shells)[number],
): Promise<void> {
  const scripts = await import('../completion-scripts.ts');
  const tree = scripts.completionTree(program);
  switch (shell) {
    case 'bash':
      return context.out.write(scripts.bashScript(tree));
    case 'zsh':
      return context.out.write(scripts.zshScript(tree));
    case 'fish':
      return context.out.write(scripts.fishScript(tree));
  }
}

/** A shell feels broken when it waits longer than this for completions. */
const limitMillis = 300;
const mostNames = 50;

/** A hidden command. The completion scripts call it for names that only the service knows. */
export function fillComplete(command: Command, context: Context): void {
  command
    .description(
      'Prints names that complete a prefix, one a line; nothing when the service does not answer.',
    )
    .argument('<what>', 'tenant')
    .argument('[prefix]', 'what is typed already', '')
    .action((what: string, prefix: string) => complete(context, what, prefix));
  withExamples(command, ['svcctl __complete tenant -- T']);
}

async function complete(context: Context, what: string, prefix: string): Promise<void> {
  if (what !== 'tenant') return;
  const signal = AbortSignal.any([context.io.signal, AbortSignal.timeout(limitMillis)]);
  let names: string[];
  try {
    names = await findTenants({ ...context.io, signal }, context.profile(), prefix);
  } catch {
    // Without a service or a token, or when time is up, there is nothing to offer; an error message would only disturb
    // the command line that is being typed.
    return;
  }
  await context.out.write(names.map((name) => `${printable(name)}\n`).join(''));
}

async function findTenants(
  io: Context['io'],
  profile: string | undefined,
  prefix: string,
): Promise<string[]> {
  const [{ findConnection }, { createClient }] = await Promise.all([
    import('../connection.ts'),
    import('../client.ts'),
  ]);
  const client = createClient(io, await findConnection(io, profile));
  const { data } = await client.json('GET /enrichment/datasets', {
    query: { level: 'tenant', limit: mostNames, q: prefix || undefined },
  });
  return data.map((row) => row.tenant);
}
