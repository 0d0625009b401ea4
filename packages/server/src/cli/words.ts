import type { Command } from 'commander';

/** Words that mean the same: whoever knows the verb of one noun need not look up that of the next. */
const verbs = [
  ['ls', 'list'],
  ['show', 'get'],
  ['create', 'add', 'new'],
  ['change', 'update', 'edit'],
  ['rm', 'delete', 'remove', 'revoke'],
];
const flags = [
  ['--state', '--status'],
  ['--style', '--profile'],
];

/** The words of a command line, and the command that they name. */
type Named = { readonly words: readonly string[]; readonly command: Command };

/**
 * Puts the command's own word in the place of another of the same meaning, and reads `help dlq ls` as `dlq ls --help`,
 * which commander knows of one word only.
 */
export function ownWords(program: Command, argv: readonly string[]): Named {
  const isHelp = argv[0] === 'help' && argv.length > 1;
  const words = isHelp ? argv.slice(1) : [...argv];
  let command = program;
  let at = 0;
  let last = -1;
  for (; at < words.length; at += 1) {
    const word = words[at] as string;
    if (command === program && word === '--profile') at += 1;
    else if (!word.startsWith('-')) {
      const next = commandOf(command, word);
      if (next === undefined) break;
      command = next;
      words[at] = next.name();
      last = at;
    }
  }
  // A word that is no command is told as one, with its help or without.
  const isKnown = at === words.length || command.commands.length === 0;
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  // What stands before the command is the program's.
  const own = words.map((word, index) =>
    last < index && index < end ? ownFlag(command, word) : word,
  );
  return { words: isHelp && isKnown ? [...own, '--help'] : own, command };
}

/** The command that may be meant by a word that is nearly one of the same meaning, such as `delet`. */
export async function commandNear(command: Command, word: string): Promise<string | undefined> {
  // It is needed after a mistake alone, and each file that a command loads takes its time.
  const { nearestOf } = await import('../kernel/nearest.ts');
  const understood = verbs.flat().filter((verb) => commandOf(command, verb) !== undefined);
  return commandOf(command, nearestOf(word, understood) ?? '')?.name();
}

function commandOf({ commands }: Command, word: string): Command | undefined {
  const [own, ...alike] = verbs.find((words) => words.includes(word)) ?? [];
  // Where one verb adds and changes, both are it.
  const set = own === 'create' || own === 'change' ? ['set'] : [];
  const found = [word, own, ...alike, ...set].map((name) =>
    commands.find((each) => each.name() === name),
  );
  return found.find((command) => command !== undefined);
}

/** The same of a flag, with what stands behind its =. */
export function ownFlag({ options }: Command, word: string): string {
  const [flag = '', ...value] = word.split('=');
  const alike = flags.find((names) => names.includes(flag));
  const own = [flag, ...(alike ?? [])].find((name) => options.some(({ long }) => long === name));
  return own === undefined ? word : [own, ...value].join('=');
}
