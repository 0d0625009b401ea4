import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Finding } from '../../checks/contract.ts';
import type { FindingSeverity } from '../../checks/values.ts';
import { loadSettings, type Settings } from '../../config/settings.ts';
import { AppError } from '../../kernel/errors.ts';
import { membersOf } from '../../kernel/json-items.ts';
import { numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import { createClient } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Connection } from '../connection.ts';
import type { Context } from '../context.ts';
import { formatTrouble } from '../format.ts';
import { styled } from '../io.ts';
import { printRows } from '../output.ts';
import { parseAnswer } from '../parse-answer.ts';
import { printable } from '../table.ts';
import { command, formatOptions, jsonOption } from '../verb.ts';

export const doctor = command({
  description:
    'Checks whether all is well with the service: its processes, the database, the store of cold data, and its work. For each thing that is wrong it says what to do. It asks the service; where that does not answer, or with --local, it checks what the settings of this machine lead to. Ends with 0 unless there are problems: then with 1.',
  examples: [
    'svcctl doctor',
    'svcctl doctor --local --all',
    'svcctl doctor --json check,severity,found',
  ],
  options: [
    ['--local', 'do not ask the service: check from here, with the settings of svcctl serve'],
    ['--all', 'tell what is well, too'],
    jsonOption,
    ...formatOptions,
  ],
  answers: 'GET /doctor findings',
  async act(context, { local, all, json, output: format, header: hasHeader }) {
    const findings = local ? await examineHere(context, true) : await examine(context);
    const shown = all || json !== undefined ? findings : findings.filter(isNotWell);
    if (context.isTerminal && json === undefined && format === undefined) {
      await printForPeople(context, shown);
    } else await printRows(context, shown, { json, format, hasHeader, columns });
    const count = (severity: FindingSeverity) =>
      findings.filter((finding) => finding.severity === severity).length;
    const problems = count('problem');
    if (json === undefined) {
      const unchecked =
        count('unchecked') > 0 ? ` · ${count('unchecked')} could not be checked` : '';
      context.note(
        `${numberOf(problems, 'problem')} · ${numberOf(count('warning'), 'warning')} · ${count('ok')} well${unchecked}`,
      );
    }
    if (problems > 0) {
      throw new AppError('problems_found', {
        detail: `${numberOf(problems, 'problem')} found: see above what to do.`,
      });
    }
  },
});

const isNotWell = ({ severity }: Finding) => severity !== 'ok';

/** Asks the service; when nobody answers, looks from here. A refusal is an error, as of any other command. */
async function examine(context: Context): Promise<Finding[]> {
  try {
    const client = await context.connect();
    await findAwake(context, client.connection);
    const findings = findingsOf(await client.text('GET /doctor', {}));
    const isHere = client.connection.source === 'local service';
    return [...(isHere ? await examineHere(context, false) : []), ...findings];
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof AppError)) throw error;
    const { code, detail } = error;
    const isHere = await hasPlaceHere(context);
    if (!awayCodes.includes(code) && !(code === 'token_missing' && isHere)) throw error;
    const service = findingOf('service', detail, {
      ...(answeringCodes.includes(code)
        ? {
            remedy: 'It runs: leave it. It goes on by itself once its database answers.',
            command: null,
          }
        : {
            remedy: isHere ? startHere : 'Start it, or run svcctl doctor on its machine.',
            command: 'svcctl serve',
          }),
    });
    return isHere ? [service, ...(await examineHere(context, true))] : [service];
  }
}

/** All checks may take a minute, a frozen process for ever: only one that answers something in time is asked for them. */
async function findAwake({ io }: Context, connection: Connection): Promise<void> {
  const answerMillis = Math.min(io.timeouts.answerMillis, awakeMillis);
  const client = createClient({ ...io, timeouts: { ...io.timeouts, answerMillis } }, connection);
  try {
    await client.text('GET /me', {});
  } catch (error) {
    // A refusal is an answer.
    if (!(error instanceof ApiError)) throw error;
  }
}

const awakeMillis = 10_000;

function findingsOf(answer: string): Finding[] {
  return parseAnswer(membersOf(answer).get('findings') ?? '[]') as Finding[];
}

/** What a service answers that has no database. */
const answeringCodes: readonly string[] = ['database_unavailable', 'not_ready'];
const awayCodes: readonly string[] = ['service_unreachable', ...answeringCodes];

const startHere =
  'Start it. A process that runs and says nothing has to end first: kill -9 loses nothing of what was acknowledged. What follows was checked from this machine.';

/** Whether this machine has the settings or the data folder of a service. */
async function hasPlaceHere({ io }: Context): Promise<boolean> {
  if (io.env.DATABASE_URL) return true;
  const folder = await stat(resolve(io.cwd, io.env.SVC_DATA_DIR || 'data')).catch(() => null);
  return folder?.isDirectory() ?? false;
}

async function examineHere(context: Context, isAlone: boolean): Promise<Finding[]> {
  let settings: Settings;
  try {
    settings = loadSettings(context.io.env);
  } catch (error) {
    const found = error instanceof AppError ? error.detail : String(error);
    const todo = { remedy: 'Mend the variable.', command: 'svcctl config' };
    return [findingOf('own_settings', found, todo)];
  }
  const app = await import('../../app.ts');
  const well = findingOf('own_settings', 'the settings of this machine can be read', null);
  const log = app.createLog(context.io.env.SVC_LOG_LEVEL ? settings.logLevel : 'silent');
  return [well, ...(await app.examineHere(settings, { log, isAlone }))];
}

/** What this command finds by itself: without something to do, that all is well. */
function findingOf(
  check: 'service' | 'own_settings',
  found: string,
  todo: Pick<Finding, 'remedy' | 'command'> | null,
): Finding {
  const severity = todo === null ? 'ok' : 'problem';
  return { check, name: check, severity, found, id: null, remedy: null, command: null, ...todo };
}

const marks: Readonly<Record<FindingSeverity, string>> = {
  ok: '✓',
  warning: '!',
  problem: '✗',
  unchecked: '?',
};

/** Two lines for each: what is wrong must not be cut, however narrow the terminal is. */
async function printForPeople(context: Context, findings: readonly Finding[]): Promise<void> {
  const lines = findings.map(({ check, severity, found, remedy, id, command }) => {
    const advice =
      remedy === null ? '' : `  ${styled(context.io, context.io.stdout, 'dim', remedy)}\n`;
    const told = formatTrouble({ text: found, id, command });
    return `${marks[severity]} ${severity} · ${check}: ${printable(told)}\n${advice}`;
  });
  if (lines.length > 0) await context.out.write(lines.join(''));
}

const { word } = columnsOf<Finding>();

const columns = [
  word('SEVERITY', 'severity'),
  word('CHECK', 'check'),
  word('FOUND', 'found'),
  word('WHAT TO DO', 'remedy'),
  word('ID', 'id'),
  word('COMMAND', 'command'),
];
