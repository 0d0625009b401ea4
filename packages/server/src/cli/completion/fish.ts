import type { CompletionNode, CompletionOption } from './tree.ts';

/** One `complete` line a word; its condition says which commands must stand before it. */
export function fishScript(tree: readonly CompletionNode[]): string {
  const lines = tree.flatMap((node) => {
    const condition = conditionOf(node);
    const isFile = node.argument === null;
    return [
      ...node.commands.map(
        (command) =>
          `complete -c svcctl -n ${condition} -a ${command.name} -d ${quote(command.summary)}`,
      ),
      ...(node.argument ?? []).map((word) => `complete -c svcctl -n ${condition} -a ${word}`),
      ...node.options.map((option) => optionLine(condition, option)),
      ...(isFile ? [`complete -c svcctl -n ${condition} -F`] : []),
    ];
  });
  return `# fish completion of svcctl: svcctl completion fish > ~/.config/fish/completions/svcctl.fish
complete -c svcctl -f
${lines.join('\n')}
`;
}

/** Its own words have been typed, none of the commands below it. */
function conditionOf(node: CompletionNode): string {
  const seen = node.path.split('/').filter((word) => word !== '');
  const below = node.commands.map((command) => command.name).join(' ');
  const clauses = seen.map((word) => `__fish_seen_subcommand_from ${word}`);
  if (below !== '') clauses.push(`not __fish_seen_subcommand_from ${below}`);
  return quote(clauses.join('; and '));
}

function optionLine(condition: string, { flag, value, summary }: CompletionOption): string {
  const line = `complete -c svcctl -n ${condition} -l ${flag.slice(2)} -d ${quote(summary)}`;
  if (value === 'none' || value === 'optional') return line;
  if (value === 'free') return `${line} -x`;
  if (value === 'file') return `${line} -r -F`;
  if (value === 'tenant') {
    return `${line} -x -a '(svcctl __complete tenant -- (commandline -ct) 2> /dev/null)'`;
  }
  return `${line} -x -a ${quote(value.join(' '))}`;
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
