import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { readFiles } from '../as-code/files.ts';
import { kinds, type Row } from '../as-code/kinds.ts';
import {
  diffLines,
  grouped,
  planSteps,
  type Resolve,
  runSteps,
  type Wanted,
} from '../as-code/plan.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { spellJson } from '../parse-answer.ts';
import { printable } from '../table.ts';
import { command, yesOption } from '../verb.ts';

export const apply = command({
  description:
    'Makes endpoints, event types, retention policies, targets of notices and tokens as YAML files say, and prints before what differs. Asks before it takes anything away. What is so already is left alone, and so are kinds that no file names. Secrets that show only now are printed on stdout, one a line.',
  argument: ['<file>', 'a file, a folder with files that end in .yaml or .yml, or - for stdin'],
  examples: [
    'svcctl apply svcctl.yaml --dry-run',
    'svcctl apply config/ --prune --yes > secrets.txt',
    'svcctl export-config | svcctl apply - --dry-run',
  ],
  options: [
    ['--prune', 'take away what no file names, of the kinds that files name; never tokens'],
    ['--dry-run', 'only print what differs; ends with 2 where something does'],
    yesOption,
  ],
  act: async (context, options, place) =>
    applyRows(context, await readFiles(context, place), options),
});

/** Compares, tells, asks and does. Throws `config_differs` for a dry run that finds a difference. */
export async function applyRows(
  context: Context,
  { wanted, resolve }: { wanted: Wanted; resolve: Resolve },
  { prune = false, dryRun, yes }: { prune?: boolean; dryRun?: true; yes?: true },
): Promise<void> {
  const client = await context.connect();
  const steps = await planSteps(context, client, { wanted, prune, resolve });
  if (steps.length === 0) {
    context.note('Nothing differs.');
    return;
  }
  const lines = diffLines(steps);
  if (dryRun) {
    await context.out.write(`${lines.join('\n')}\n`);
    throw new AppError('config_differs', {
      detail: `${numberOf(steps.length, 'difference')}; nothing was changed.`,
    });
  }
  for (const line of lines) context.note(line);
  const grave = steps.filter(({ isGrave }) => isGrave).length;
  if (grave > 0) {
    if (!yes) assertCanAsk(context, 'Apply');
    await confirm(context, yes, {
      question: `${numberOf(grave, 'step takes', 'steps take')} something away for good. Apply?`,
      act: 'Apply',
    });
  }
  await runSteps(context, client, steps);
}

export const exportConfig = command({
  description:
    'Prints endpoints, event types, policies, targets of notices and tokens as the YAML that apply reads: applied at once, it changes nothing. Values of headers are named as variables, secrets are left out.',
  examples: ['svcctl export-config > svcctl.yaml'],
  act: printConfig,
});

async function printConfig(context: Context): Promise<void> {
  const client = await context.connect();
  const sections: Record<string, Row[]> = {};
  for (const kind of kinds) {
    const names = [...kind.key, ...Object.keys(kind.fields)];
    const groups = grouped(kind, await kind.list(context, client));
    for (const [called, { length }] of groups) {
      const more = `note: more than one ${kind.one} is called ${called}: one of them is printed`;
      if (length > 1) context.note(printable(more));
    }
    const rows = [...groups.values()].flatMap((alike) => alike.slice(0, 1).map(({ row }) => row));
    sections[kind.section] = rows.map((row) =>
      Object.fromEntries(
        names
          .filter((name) => row[name] !== undefined)
          .filter((name) => spellJson(row[name]) !== spellJson(kind.fields[name]))
          .map((name) => [name, row[name]]),
      ),
    );
  }
  const { stringify } = await import('yaml');
  await context.out.write(stringify(sections, { lineWidth: 0, aliasDuplicateObjects: false }));
}
