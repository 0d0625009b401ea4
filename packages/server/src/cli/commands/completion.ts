import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { type Answers, fieldsOf } from '../fields.ts';
import { printable } from '../table.ts';
import { command, type Described } from '../verb.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** The command that prints the script for a shell, of all commands that `createWhole` makes. */
export function completionOf(createWhole: () => Promise<Command>): Described {
  return command({
    description:
      'Prints a script that completes commands, options, files, the names of tenants, stores and profiles, months, ids, and the fields of --json.',
    argument: ['<shell>', 'the shell', shells],
    examples: [
      'source <(svcctl completion bash)',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is zsh's
      'svcctl completion zsh > "${fpath[1]}/_svcctl"',
      'svcctl completion fish > ~/.config/fish/completions/svcctl.fish',
    ],
    async act(context, _options, shell) {
      const { makeScripts } = await import('../completion-scripts.ts');
      const scripts = await makeScripts(createWhole);
      await context.out.write(scripts[shell]);
    },
  });
}

const mostNames = 50;

/** A hidden command. The completion scripts call it for names that only the service knows. */
export const __complete = command({
  description:
    'Prints names that complete a prefix, one a line; nothing when the service does not answer.',
  argument: ['<words...>', 'what is asked for, and what is typed already'],
  examples: ['svcctl __complete tenant -- T'],
  options: [['--describe', 'print behind each, and a tab, what it is']],
  async act(context, { describe }, [what, prefix = '', ...words]) {
    const limit = AbortSignal.timeout(context.io.timeouts.completionMillis);
    const signal = AbortSignal.any([context.io.signal, limit]);
    // Behind a command, --profile is an option of its own.
    const profile = words[1] === '--profile' ? words[2] : context.profile();
    let names: readonly Name[];
    try {
      names = await find({ ...context.io, signal }, profile, { what, prefix, words });
    } catch {
      // Without a service or a token, or when time is up, there is nothing to offer; an error message would only disturb
      // the command line that is being typed.
      return;
    }
    const fitting = names.filter(([name = '']) => name.startsWith(prefix)).slice(0, mostNames);
    const shown = fitting.map((each) => (describe ? each : each.slice(0, 1)).map(printable));
    await context.out.write(shown.map((each) => `${each.join('\t')}\n`).join(''));
  },
});

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
  {
    what = '',
    prefix,
    words,
  }: { what: string | undefined; prefix: string; words: readonly string[] },
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
