import type { CompletionNode, CompletionOption } from './tree.ts';

/**
 * Static words from the tree; tenants from the hidden command. Names that come from the service are
 * compared and quoted here and never given to `compgen -W`, which would expand `$(…)` inside them.
 */
export function bashScript(tree: readonly CompletionNode[]): string {
  const paths = tree.map((node) => node.path).filter((path) => path !== '');
  return `# bash completion of svcctl: source <(svcctl completion bash)
_svcctl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} path= i name
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path/\${COMP_WORDS[i]}" in
      ${paths.join(' | ')}) path="$path/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path:$prev" in
${tree.flatMap((node) => node.options.flatMap((option) => valueCase(node, option))).join('\n')}
  esac
  case "$path" in
${tree.map(wordCase).join('\n')}
  esac
}
complete -F _svcctl svcctl
`;
}

function valueCase(node: CompletionNode, { flag, value }: CompletionOption): string[] {
  const on = `    ${node.path}:${flag})`;
  if (value === 'none' || value === 'optional') return [];
  if (value === 'free') return [`${on} return ;;`];
  if (value === 'file') return [`${on} COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
  if (value === 'tenant') {
    return [
      `${on}
      while IFS= read -r name; do
        [[ $name == "$cur"* ]] && COMPREPLY+=("$(printf %q "$name")")
      done < <(svcctl __complete tenant -- "$cur" 2> /dev/null)
      return ;;`,
    ];
  }
  return [`${on} COMPREPLY=($(compgen -W '${value.join(' ')}' -- "$cur")); return ;;`];
}

function wordCase(node: CompletionNode): string {
  const words = [
    ...node.commands.map((command) => command.name),
    ...(node.argument ?? []),
    ...node.options.map((option) => option.flag),
  ];
  const files = node.argument === null ? ' $(compgen -f -- "$cur")' : '';
  return `    ${node.path === '' ? "''" : node.path}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$cur")${files}) ;;`;
}
