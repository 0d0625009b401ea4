import type { CompletionNode, CompletionOption } from './tree.ts';

/** The same rules as in bash. `compadd` takes names as they are and quotes them itself. */
export function zshScript(tree: readonly CompletionNode[]): string {
  const paths = tree.map((node) => node.path).filter((path) => path !== '');
  return `#compdef svcctl
# zsh completion of svcctl: svcctl completion zsh > "\${fpath[1]}/_svcctl"
_svcctl() {
  local cur=\${(Q)words[CURRENT]} prev=\${words[CURRENT-1]} cmd= i
  local -a names
  for ((i = 2; i < CURRENT; i++)); do
    case "$cmd/\${words[i]}" in
      (${paths.join('|')}) cmd="$cmd/\${words[i]}" ;;
    esac
  done
  case "$cmd:$prev" in
${tree.flatMap((node) => node.options.flatMap((option) => valueCase(node, option))).join('\n')}
  esac
  case "$cmd" in
${tree.map(wordCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _svcctl ]]; then _svcctl "$@"; else compdef _svcctl svcctl; fi
`;
}

function valueCase(node: CompletionNode, { flag, value }: CompletionOption): string[] {
  const on = `    (${node.path}:${flag})`;
  if (value === 'none' || value === 'optional') return [];
  if (value === 'free') return [`${on} return ;;`];
  if (value === 'file') return [`${on} _files; return ;;`];
  if (value === 'tenant') {
    return [
      `${on} names=("\${(@f)$(svcctl __complete tenant -- "$cur" 2> /dev/null)}"); compadd -a names; return ;;`,
    ];
  }
  return [`${on} compadd -- ${value.join(' ')}; return ;;`];
}

function wordCase(node: CompletionNode): string {
  const words = [
    ...node.commands.map((command) => command.name),
    ...(node.argument ?? []),
    ...node.options.map((option) => option.flag),
  ];
  const files = node.argument === null ? '; _files' : '';
  return `    (${node.path === '' ? "''" : node.path}) compadd -- ${words.join(' ')}${files} ;;`;
}
