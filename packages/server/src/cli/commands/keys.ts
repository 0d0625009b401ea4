import { numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { type JsonOption, printRows } from '../output.ts';
import { type App, openMadeApp } from '../own-app.ts';
import { jsonOption, type Verbs, verb, yesOption } from '../verb.ts';

type KeysReport = Awaited<ReturnType<App['listKeys']>>;
type KeyRow = KeysReport['keys'][number];

const fields = [
  'id',
  'seals',
  'is_known',
  'secrets',
  'processes',
] as const satisfies readonly (keyof KeyRow)[];

const ls = verb({
  summary: 'list the keys, and what is encrypted with each',
  description:
    'Lists the keys of webhook secrets that this machine has, or that something is encrypted with. It reads the database of the settings itself.',
  examples: ['svcctl keys ls'],
  options: [jsonOption],
  answers: fields,
  async act(context, { json }) {
    const { settings, app, log } = await openMadeApp(context);
    await print(context, await app.listKeys(settings, log), json);
  },
});

const rotate = verb({
  summary: 'encrypt all webhook secrets with another key',
  description:
    'Encrypts all webhook secrets with a new key, while the service runs: first every process must know the key, then it encrypts with it, then what is stored is encrypted anew. Endpoints keep their secrets, and receivers notice nothing. Without SVC_SECRET_KEY the new key is made in the data folder; with it, set SVC_SECRET_KEY to the new key and SVC_SECRET_KEY_PREVIOUS to the old one for every process, restart them, and then run this. A rotation that was killed is ended by the next one. Keep the old key for as long as you keep backups from before. A key that is lost for good is replaced with --lost, while no process runs: it names the endpoints whose secrets nobody can decrypt any more.',
  examples: ['svcctl keys rotate', 'svcctl keys rotate --yes --json', 'svcctl keys rotate --lost'],
  options: [
    [
      '--lost',
      'take another key in place of one that is lost: SVC_SECRET_KEY, or one made in the data folder',
    ],
    yesOption,
    jsonOption,
  ],
  answers: fields,
  async act(context, { lost, yes, json }) {
    if (lost) return replaceLost(context, { yes, json });
    const { settings, app, log } = await openMadeApp(context);
    await confirm(context, yes, {
      question: 'Encrypt all webhook secrets with another key?',
      act: 'Rotate',
    });
    const report = await app.rotateKeys({
      settings,
      log,
      signal: context.io.signal,
      waitSeconds,
      onStep: (text) => context.note(text),
    });
    await print(context, report, json);
    const sealing = report.keys.find(({ seals }) => seals);
    const rest = report.keys
      .filter(({ seals }) => !seals)
      .reduce((sum, { secrets }) => sum + secrets, 0);
    const done = numberOf(sealing?.secrets ?? 0, 'secret');
    context.note(`${done} encrypted with the key ${sealing?.id}, which all processes know.`);
    if (rest > 0) {
      context.note(
        `${numberOf(rest, 'secret')} could not be decrypted: their key is not here. Set it as SVC_SECRET_KEY_PREVIOUS and run this again, or rotate the secrets of these endpoints.`,
      );
    }
  },
});

/** Each process looks every ten seconds which keys there are. */
const waitSeconds = 60;

/** So many endpoints that need a new secret are named. */
const namedEndpoints = 1000;

async function replaceLost(
  context: Context,
  { yes, json }: { yes: true | undefined; json: JsonOption },
): Promise<void> {
  const { settings, app, log } = await openMadeApp(context);
  await confirm(context, yes, {
    question: 'Give up the key of webhook secrets, and all secrets that it has encrypted?',
    act: 'Give it up',
  });
  const report = await app.replaceLostKey({ settings, log, signal: context.io.signal });
  await print(context, report, json);
  const { endpoints, targets, schedules } = report;
  context.note('From the next start on, secrets are encrypted with the new key.');
  if (endpoints.length > 0) {
    context.note(
      `${numberOf(endpoints.length, 'endpoint')} lost their secrets, and nothing is sent there before each has a new one, and its receiver, too: svcctl endpoints rotate-secret ID.`,
    );
  }
  for (const id of endpoints.slice(0, namedEndpoints)) context.note(id);
  if (targets.length > 0) {
    context.note(`Make these targets of notices anew (svcctl notify): ${targets.join(', ')}`);
  }
  if (schedules.length > 0) {
    context.note(`Give these schedules their credentials again: ${schedules.join(', ')}`);
    context.hint('svcctl schedules change ID --access-key-id KEY');
  }
}

const { word, count } = columnsOf<KeyRow>();

async function print(context: Context, report: KeysReport, json: JsonOption): Promise<void> {
  const columns = [
    word('KEY', (row) => row.id ?? '(not named)'),
    word('STATE', stateOf),
    count('SECRETS', 'secrets'),
    word('PROCESSES', 'processes', {
      shown: (row) => `${row.processes} of ${report.processes} know it`,
    }),
  ];
  await printRows(context, report.keys, { columns, json });
}

function stateOf(row: KeyRow): string {
  if (row.seals) return 'encrypts';
  return row.is_known ? 'decrypts' : 'not here';
}

export const keys: Verbs = { ls, rotate };
