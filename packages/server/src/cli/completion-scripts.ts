import type { Command, Option } from 'commander';
import type { WithAnswers } from './verb.ts';

/**
 * Makes the script for each shell, out of the tree of all commands. The build does so once, and puts what it has made in
 * the place of this module.
 */
export async function makeScripts(
  createWhole: () => Promise<Command>,
): Promise<Record<'bash' | 'zsh' | 'fish', string>> {
  const tree = completionTree(await createWhole());
  return { bash: bashScript(tree), zsh: zshScript(tree), fish: fishScript(tree) };
}

/** What may come after the words of a command. */
type CompletionNode = {
  /** The words of the command, such as "/records/ls"; "" is svcctl itself. */
  readonly path: string;
  readonly commands: readonly { name: string; summary: string }[];
  readonly options: readonly CompletionOption[];
  readonly argument: Value;
};

/** What a value may be: these words, a file, what the service knows, or any text; or there is none, or only perhaps. */
type Value = readonly string[] | 'file' | 'free' | 'none' | 'optional' | Asked;

/** Names that the hidden command `__complete` finds when they are asked for. */
type Asked = { readonly ask: string; readonly isOptional?: true };

type CompletionOption = {
  /** The option, such as "--tenant". */
  readonly flag: string;
  readonly summary: string;
  readonly value: Value;
};

/** What an option asks for, wherever it is. */
const asked: Readonly<Record<string, string>> = {
  ...{ '--tenant': 'tenant', '--store': 'store', '--month': 'month' },
  ...{ '--endpoint': 'endpoints', '--incident': 'incidents' },
  ...{ '--profile': 'profile' },
};
/** The nouns whose argument is an id of their own list, or a name. */
const listed =
  /^\/(endpoints|event-types|exports|incidents|jobs|profile|schedules|tokens|records\/versions)\b/;

/** All commands with their options. They come from commander's own tree, so that the scripts cannot lack one. */
function completionTree(program: Command): CompletionNode[] {
  const nodes: CompletionNode[] = [];
  const visit = (command: Command, path: string) => {
    const help = command.createHelp();
    const commands = help.visibleCommands(command).filter((child) => child.name() !== 'help');
    nodes.push({
      path,
      commands: commands.map((child) => ({
        name: child.name(),
        summary: child.summary() || child.description(),
      })),
      options: help.visibleOptions(command).flatMap(optionOf),
      argument: argumentOf(command, path),
    });
    for (const child of commands) visit(child, `${path}/${child.name()}`);
  };
  visit(program, '');
  return nodes;
}

function optionOf(option: Option): CompletionOption[] {
  if (option.long === undefined || option.long === null) return [];
  return [{ flag: option.long, summary: option.description, value: followingOf(option) }];
}

/** Values that are the name of a file or a folder, as the flags of an option or an argument call them. */
const paths = /[<[](file|folder|place|from)(\.{3})?[>\]]/;

function followingOf(option: Option): Value {
  const { argChoices, long = '', flags } = option;
  if (argChoices !== undefined) return argChoices;
  const ask = asked[long ?? ''];
  if (ask !== undefined) return { ask };
  if (/<type(\.{3})?>/.test(flags)) return { ask: 'event-types' };
  const { answers } = option as WithAnswers;
  if (answers !== undefined) return { ask: quote(`json ${String(answers)}`), isOptional: true };
  if (paths.test(flags)) return 'file';
  if (option.optional) return 'optional';
  return option.required ? 'free' : 'none';
}

function argumentOf(command: Command, path: string): Value {
  const [argument] = command.registeredArguments;
  if (argument === undefined) return 'none';
  if (argument.argChoices !== undefined) return argument.argChoices;
  if (paths.test(`<${argument.name()}>`)) return 'file';
  const [, noun] = listed.exec(path) ?? [];
  return noun !== undefined && /^(id|name|type|version)/.test(argument.name())
    ? { ask: noun }
    : 'free';
}

function isAsked(value: Value): value is Asked {
  return typeof value === 'object' && 'ask' in value;
}

function isWords(value: Value): value is readonly string[] {
  return typeof value === 'object' && !('ask' in value);
}

/**
 * The script for bash. It has the words of the tree, and asks the hidden command for tenants. Names that come from the
 * service are compared and quoted here, never given to `compgen -W`, which would run `$(…)` inside them.
 */
function bashScript(tree: readonly CompletionNode[]): string {
  const paths = tree.map((node) => node.path).filter((path) => path !== '');
  return `# bash completion of svcctl: source <(svcctl completion bash)
_svcctl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} path= i name
  COMPREPLY=()
  # bash makes words of --state=pending at its =.
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=\${COMP_WORDS[COMP_CWORD - 2]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path/\${COMP_WORDS[i]}" in
      ${paths.join(' | ')}) path="$path/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path:$prev" in
${tree.flatMap((node) => node.options.flatMap((option) => bashValueCase(node, option))).join('\n')}
  esac
  case "$path" in
${tree.map(bashWordCase).join('\n')}
  esac
}
complete -F _svcctl svcctl
`;
}

function bashValueCase(node: CompletionNode, { flag, value }: CompletionOption): string[] {
  const on = `    ${node.path}:${flag})`;
  if (value === 'none' || value === 'optional') return [];
  if (value === 'free') return [`${on} return ;;`];
  if (value === 'file') return [`${on} COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
  if (isAsked(value)) return [`${on} [[ $cur == -* ]] || { ${bashAsks(value)}; return; } ;;`];
  return [`${on} COMPREPLY=($(compgen -W '${value.join(' ')}' -- "$cur")); return ;;`];
}

function bashAsks({ ask }: Asked): string {
  return `while IFS= read -r name; do
        [[ $name == "$cur"* ]] && COMPREPLY+=("$(printf %q "$name")")
      done < <(svcctl __complete ${ask} -- "$cur" "\${COMP_WORDS[@]}" 2> /dev/null)`;
}

function bashWordCase(node: CompletionNode): string {
  const { argument } = node;
  const words = [
    ...node.commands.map((command) => command.name),
    ...(isWords(argument) ? argument : []),
    ...node.options.map((option) => option.flag),
  ];
  const files = argument === 'file' ? ' $(compgen -f -- "$cur")' : '';
  const names = isAsked(argument) ? `; [[ $cur == -* ]] || ${bashAsks(argument)}` : '';
  return `    ${node.path === '' ? "''" : node.path}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$cur")${files})${names} ;;`;
}

/** The script for fish: one `complete` line for each word, whose condition says which commands must come before it. */
function fishScript(tree: readonly CompletionNode[]): string {
  const lines = tree.flatMap((node) => {
    const condition = quote(`__svcctl_at ${node.path || '""'}`);
    const { argument } = node;
    return [
      ...node.commands.map(
        (command) =>
          `complete -c svcctl -n ${condition} -a ${command.name} -d ${quote(command.summary)}`,
      ),
      ...(isWords(argument) ? argument : []).map(
        (word) => `complete -c svcctl -n ${condition} -a ${word}`,
      ),
      ...node.options.map((option) => optionLine(condition, option)),
      ...(argument === 'file' ? [`complete -c svcctl -n ${condition} -F`] : []),
      ...(isAsked(argument) ? [`complete -c svcctl -n ${condition} -a ${fishAsks(argument)}`] : []),
    ];
  });
  const paths = tree.map((node) => node.path).filter((path) => path !== '');
  return `# fish completion of svcctl: svcctl completion fish > ~/.config/fish/completions/svcctl.fish
# Whether what was typed names the command of this path.
function __svcctl_at
  set -l at ''
  for word in (commandline -opc)[2..]
    contains -- $at/$word ${paths.join(' ')}; and set at $at/$word
  end
  test "$at" = "$argv[1]"
end
complete -c svcctl -f
${lines.join('\n')}
`;
}

function optionLine(condition: string, { flag, value, summary }: CompletionOption): string {
  const line = `complete -c svcctl -n ${condition} -l ${flag.slice(2)} -d ${quote(summary)}`;
  if (value === 'none' || value === 'optional') return line;
  if (value === 'free') return `${line} -x`;
  if (value === 'file') return `${line} -r -F`;
  if (isAsked(value)) return value.isOptional ? line : `${line} -x -a ${fishAsks(value)}`;
  return `${line} -x -a ${quote(value.join(' '))}`;
}

function fishAsks({ ask }: Asked): string {
  return `'(svcctl __complete --describe ${ask} -- (commandline -ct | string replace -r "^--[^=]*=" "") (commandline -opc) 2> /dev/null)'`;
}

function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

/** The script for zsh, with the same rules as for bash. `_describe` takes names as they are, and has them quoted. */
function zshScript(tree: readonly CompletionNode[]): string {
  const paths = tree.map((node) => node.path).filter((path) => path !== '');
  return `#compdef svcctl
# zsh completion of svcctl: svcctl completion zsh > "\${fpath[1]}/_svcctl"
_svcctl() {
  local cur=\${(Q)words[CURRENT]} prev=\${words[CURRENT-1]} cmd= i
  local -a names
  if [[ $cur == --*=* ]]; then
    prev=\${cur%%=*} cur=\${cur#*=}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$cmd/\${words[i]}" in
      (${paths.join('|')}) cmd="$cmd/\${words[i]}" ;;
    esac
  done
  case "$cmd:$prev" in
${tree.flatMap((node) => node.options.flatMap((option) => zshValueCase(node, option))).join('\n')}
  esac
  case "$cmd" in
${tree.map(zshWordCase).join('\n')}
  esac
}
# What svcctl prints is a name, a tab and what it is; _describe takes them with a colon between.
_svcctl_names() {
  names=("\${(@f)$(svcctl __complete --describe "$1" -- "$cur" "\${words[@]}" 2> /dev/null)}")
  names=(\${\${\${names:#}//:/\\\\:}/$'\\t'/:})
  _describe value names
}
if [[ $funcstack[1] == _svcctl ]]; then _svcctl "$@"; else compdef _svcctl svcctl; fi
`;
}

function zshValueCase(node: CompletionNode, { flag, value }: CompletionOption): string[] {
  const on = `    (${node.path}:${flag})`;
  if (value === 'none' || value === 'optional') return [];
  if (value === 'free') return [`${on} return ;;`];
  if (value === 'file') return [`${on} _files; return ;;`];
  if (isAsked(value)) return [`${on} [[ $cur == -* ]] || { ${zshAsks(value)}; return; } ;;`];
  return [`${on} compadd -- ${value.join(' ')}; return ;;`];
}

function zshAsks({ ask }: Asked): string {
  return `_svcctl_names ${ask}`;
}

function zshWordCase(node: CompletionNode): string {
  const { argument } = node;
  const words = [
    ...node.commands.map(({ name, summary }) => `${name}:${summary}`),
    ...(isWords(argument) ? argument : []),
  ];
  const flags = node.options.map(({ flag, summary }) => `${flag}:${summary}`);
  const offers = [
    ...(words.length === 0 ? [] : [zshOffer('command', words)]),
    ...(argument === 'file' ? ['_files'] : []),
    ...(isAsked(argument) ? [zshAsks(argument)] : []),
  ];
  const options = zshOffer('-o option', flags);
  const all =
    offers.length === 0
      ? options
      : `if [[ $cur == -* ]]; then ${options}; else ${offers.join('; ')}; fi`;
  return `    (${node.path === '' ? "''" : node.path}) ${all} ;;`;
}

function zshOffer(what: string, words: readonly string[]): string {
  return `names=(${words.map(zshWord).join(' ')}); _describe ${what} names`;
}

/** A word of zsh, in which a quote is written outside of the quotes. */
function zshWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
