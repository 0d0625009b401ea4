import type { Command, Option } from 'commander';
import { quarterOf } from '../../kernel/day.ts';
import type { Context } from '../context.ts';
import { type Answers, fieldsOf } from '../fields.ts';
import { printable } from '../table.ts';
import { command, type WithAnswers } from '../verb.ts';
import { ownFlag, ownWords } from '../words.ts';

/** What each script does: it asks `__complete` with the words that are typed. A line / there asks for names of files. */
const scripts = {
  bash: `# bash completion of svcctl: source <(svcctl completion bash)
_svcctl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} name
  COMPREPLY=()
  # bash makes words of --state=pending at its =.
  [[ $cur == = ]] && cur=
  while IFS= read -r name; do
    if [[ $name == / ]]; then COMPREPLY+=($(compgen -f -- "$cur"))
    else printf -v name %q "$name"; COMPREPLY+=("$name"); fi
  done < <(svcctl __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -F _svcctl svcctl
`,
  zsh: `#compdef svcctl
# zsh completion of svcctl: svcctl completion zsh > "\${fpath[1]}/_svcctl"
_svcctl() {
  local -a names
  names=("\${(@f)$(svcctl __complete --describe -- "\${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ $names[1] == / ]]; then _files; return; fi
  # What svcctl prints is a name, a tab and what it is; _describe takes them with a colon between.
  names=(\${\${\${names:#}//:/\\\\:}/$'\\t'/:})
  _describe value names
}
if [[ $funcstack[1] == _svcctl ]]; then _svcctl "$@"; else compdef _svcctl svcctl; fi
`,
  fish: `# fish completion of svcctl: svcctl completion fish > ~/.config/fish/completions/svcctl.fish
function __svcctl_names
  set -l now (commandline -ct)
  set -l names (svcctl __complete --describe -- (commandline -opc)[2..] "$now" 2> /dev/null)
  if test "$names[1]" = /
    __fish_complete_path "$now"
  else if set -q names[1]
    printf '%s\\n' $names
  end
end
complete -c svcctl -f -a '(__svcctl_names)'
`,
} as const;

export const completion = command({
  description:
    'Prints a script that completes commands, options, files, the names of tenants, stores and profiles, months, quarters, ids, and the fields of --json.',
  argument: ['<shell>', 'the shell', Object.keys(scripts) as (keyof typeof scripts)[]],
  examples: [
    'source <(svcctl completion bash)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is zsh's
    'svcctl completion zsh > "${fpath[1]}/_svcctl"',
    'svcctl completion fish > ~/.config/fish/completions/svcctl.fish',
  ],
  act: (context, _options, shell) => context.out.write(scripts[shell]),
});

const mostNames = 50;

/** A hidden command, which the completion scripts call. */
export const __complete = command({
  description:
    'Prints what may stand in the place of the last word, one a line, or / for names of files. Names of the service are missing while that does not answer.',
  argument: ['<words...>', 'what is typed behind svcctl, up to the word to complete'],
  examples: ['svcctl __complete -- records ls --tenant T'],
  options: [['--describe', 'print behind each, and a tab, what it is']],
  async act(context, { describe }, typed, own) {
    // bash makes words of --state=pending at its =.
    const words = typed.filter((word, at) => word !== '=' || at === typed.length - 1);
    const last = words.pop() ?? '';
    const [, lead = '', flag = words.at(-1), prefix = ''] =
      /^((--[^=]+)=)?(.*)$/s.exec(last === '=' ? '' : last) ?? [];
    const { command: at } = ownWords(own.parent ?? own, words);
    const value = valueAt(at, { flag, isFlag: lead === '' && prefix.startsWith('-') });
    const fitting = ([name = '']: Name) => name.startsWith(prefix);
    const names =
      typeof value === 'string'
        ? (await asked(context, value, { prefix, words })).filter(fitting).slice(0, mostNames)
        : value.filter(fitting);
    const shown = names.map(([name = '', ...what]) =>
      [lead + name, ...(describe ? what : [])].map(printable).join('\t'),
    );
    const lines = value === 'file' ? ['/'] : shown;
    await context.out.write(lines.map((line) => `${line}\n`).join(''));
  },
});

/** What an option asks the service for, wherever it is. */
const askedByOptions: Readonly<Record<string, string>> = {
  '--tenant': 'tenant',
  '--store': 'store',
  '--month': 'month',
  '--quarter': 'quarter',
  '--endpoint': 'endpoints',
  '--incident': 'incidents',
  '--profile': 'profile',
};
/** The nouns whose argument is an id of their own list, or a name. */
const listed =
  /^(endpoints|event-types|exports|incidents|jobs|profile|schedules|tokens|records versions)\b/;
/** Values that are the name of a file or a folder, as the flags of an option or an argument call them. */
const paths = /[<[](file|folder|place|from)(\.{3})?[>\]]/;

/** What may follow a command: these names, `file`, or what `asked` finds under that word. */
type Value = readonly Name[] | string;

function valueAt(
  command: Command,
  { flag, isFlag }: { flag: string | undefined; isFlag: boolean },
): Value {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const flags = options.map(({ long, description }): Name => [long ?? '', description]);
  if (isFlag) return flags;
  const own = ownFlag(command, flag ?? '');
  const value = takenBy(options.find(({ long }) => long === own));
  if (value !== null) return value;
  const argument = valueOfArgument(command);
  if (typeof argument === 'string') return argument;
  const verbs = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const named = verbs.map((child): Name => [child.name(), child.summary() || child.description()]);
  const names = [...named, ...argument];
  return names.length > 0 ? names : flags;
}

/** What an option takes; null where none is needed. */
function takenBy(option: Option | undefined): Value | null {
  if (option === undefined) return null;
  const { argChoices, long, flags, optional, required } = option;
  if (argChoices !== undefined) return argChoices.map((word) => [word]);
  const ask = askedByOptions[long ?? ''];
  if (ask !== undefined) return ask;
  if (/<type(\.{3})?>/.test(flags)) return 'event-types';
  const { answers } = option as WithAnswers;
  if (answers !== undefined) return `json ${String(answers)}`;
  if (paths.test(flags)) return 'file';
  return required && !optional ? [] : null;
}

function valueOfArgument(command: Command): Value {
  const [argument] = command.registeredArguments;
  if (argument === undefined) return [];
  if (argument.argChoices !== undefined) return argument.argChoices.map((word) => [word]);
  if (paths.test(`<${argument.name()}>`)) return 'file';
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name());
  const [, noun] = listed.exec(names.join(' ')) ?? [];
  return noun !== undefined && /^(id|name|type|version)/.test(argument.name())
    ? noun.replace(' ', '/')
    : [];
}

/** Names that only the service knows, or the file of profiles. */
async function asked(
  context: Context,
  what: string,
  { prefix, words }: { prefix: string; words: readonly string[] },
): Promise<readonly Name[]> {
  const limit = AbortSignal.timeout(context.io.timeouts.completionMillis);
  const signal = AbortSignal.any([context.io.signal, limit]);
  // Behind a command, --profile is an option of its own.
  const profile = words[0] === '--profile' ? words[1] : context.profile();
  try {
    return await find({ ...context.io, signal }, profile, { what, prefix, words });
  } catch {
    // Without a service or a token, or when time is up, there is nothing to offer; an error message would only disturb
    // the command line that is being typed.
    return [];
  }
}

/** A name, and behind it what it is, where something is told of it. */
type Name = readonly string[];

/** The lists whose ids are completed, by what the scripts call them. Their first page has what is looked for mostly. */
const lists = {
  endpoints: 'GET /webhook/endpoints',
  'event-types': 'GET /webhook/event-types',
  exports: 'GET /exports',
  incidents: 'GET /incidents',
  jobs: 'GET /jobs',
  'records/versions': 'GET /enrichment/dataset-versions',
  schedules: 'GET /exports/schedules',
  tokens: 'GET /tokens',
} as const;

/** What --json may say next: the fields that were chosen, and one more. */
async function selections(answers: string, prefix: string): Promise<readonly Name[]> {
  const fields = await fieldsOf(answers.includes('/') ? (answers as Answers) : answers.split(','));
  const chosen = prefix.split(',').slice(0, -1);
  const rest = fields.filter((field) => !chosen.includes(field));
  return rest.map((field) => [[...chosen, field].join(',')]);
}

async function find(
  io: Context['io'],
  profile: string | undefined,
  { what, prefix, words }: { what: string; prefix: string; words: readonly string[] },
): Promise<readonly Name[]> {
  const [, answers] = /^json (.+)$/.exec(what) ?? [];
  if (answers !== undefined) return selections(answers, prefix);
  const { findConnection, readProfiles } = await import('../connection.ts');
  if (what === 'profile') {
    const { profiles } = await readProfiles(io.env);
    return Object.entries(profiles).map(([name, { url }]) => [name, url]);
  }
  const [{ createClient }, { maxPageRows }] = await Promise.all([
    import('../client.ts'),
    import('../pages.ts'),
  ]);
  const client = createClient(io, await findConnection(io, profile));
  if (what === 'quarter') {
    const months = await find(io, profile, { what: 'month', prefix: '', words });
    return [...new Set(months.map(([month = '']) => quarterOf(month)))].map((name) => [name]);
  }
  if (what === 'tenant' || what === 'store' || what === 'month') {
    const after = (flag: string) => words[words.indexOf(flag) + 1];
    const of = (flag: string) => (words.includes(flag) ? after(flag) : undefined);
    const tenant = what === 'tenant' ? undefined : of('--tenant');
    const store = what === 'month' ? of('--store') : undefined;
    const limit = what === 'month' ? maxPageRows : mostNames;
    const { data } = await client.json('GET /enrichment/datasets', {
      query: { tenant, store, level: what, limit, q: prefix || undefined },
    });
    return [...new Set(data.map((row) => row[what] ?? ''))].map((name) => [name]);
  }
  if (!Object.hasOwn(lists, what)) return [];
  const answer = await client.text(lists[what as keyof typeof lists], {});
  const { data } = JSON.parse(answer) as { data: readonly Readonly<Record<string, unknown>>[] };
  return data.map((row) => [
    String(row.id ?? row.type),
    telling.flatMap((member) => (typeof row[member] === 'string' ? [row[member]] : [])).join(' · '),
  ]);
}

/** The members of a row that tell a person which one it is. */
const telling = ['name', 'url', 'summary', 'event_type', 'kind', 'tenant', 'health', 'state'];
