import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { withExamples } from '../help.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export function addCompletion(program: Command, context: Context): void {
  const command = program
    .command('completion')
    .summary('print a completion script for bash, zsh or fish')
    .description('Prints a script that completes commands, options, and the names of tenants.')
    .addArgument(program.createArgument('<shell>', 'the shell').choices(shells))
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
  const { completionTree } = await import('../completion/tree.ts');
  const tree = completionTree(program);
  switch (shell) {
    case 'bash':
      return context.out.write((await import('../completion/bash.ts')).bashScript(tree));
    case 'zsh':
      return context.out.write((await import('../completion/zsh.ts')).zshScript(tree));
    case 'fish':
      return context.out.write((await import('../completion/fish.ts')).fishScript(tree));
  }
}
