import { formatCount, numberOf } from '../../kernel/values.ts';
import { tenantFilter } from '../../kernel/view.ts';
import { call } from '../act.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { isAtWork } from '../follow-job.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import { createRowPrinter, printJson, printObject } from '../output.ts';
import { checkDate } from '../retention/days.ts';
import {
  amount,
  hotSpaceText,
  type PlanRow,
  type PlanScope,
  type PlanTotals,
  planColumns,
  totalsText,
  walkPlan,
} from '../retention/plan.ts';
import { assertDone, followRun, tellRunEnd } from '../retention/runs.ts';
import {
  assertAgrees,
  followVerification,
  printProblems,
  type Verification,
} from '../retention/verifications.ts';
import { formatOptions, jsonOption, tenantOption, type Verbs, verb, yesOption } from '../verb.ts';
import { move, moves } from './moves.ts';
import { policy } from './policies.ts';
import { forget, orphans } from './retention-objects.ts';

const scopeOptions = [
  ['--tenant <tenant>', 'only this tenant'],
  ['--before <date>', 'only days before this one, as 2026-03-05 (UTC)'],
] as const;

const plan = verb({
  summary: 'tell what a run would move and delete now',
  description:
    'Tells what a run would move to the cold tier and what it would delete now, by tenant, to the record.',
  examples: [
    'svcctl retention plan',
    'svcctl retention plan --tenant TX --before 2001-05-01',
    'svcctl retention plan --json tenant,kind,count',
  ],
  options: [...scopeOptions, jsonOption, ...formatOptions],
  answers: 'GET /retention/plan data',
  async act(context, { json, output: format, header: hasHeader, ...scope }) {
    checkDate('--before', scope.before);
    const output = { columns: planColumns, json, format, hasHeader };
    const printer = createRowPrinter<PlanRow>(context, output);
    const client = await context.connect();
    let said: string | undefined;
    let space: string | undefined;
    let fault: string | null = null;
    for await (const { rows, totals, hotSpace, problem } of walkPlan(context, client, scope)) {
      await printer.write(rows);
      fault = problem;
      if (json === undefined) said ??= totalsText(totals);
      if (hotSpace !== null) space = hotSpaceText(hotSpace);
    }
    await printer.end();
    if (fault !== null) context.note(`Nothing can be moved or deleted now. ${fault}`);
    if (said === undefined || !context.isTerminal) return;
    context.hint(`${said} · do it: svcctl retention run`);
    if (space !== undefined) context.hint(space);
  },
});

type RunOptions = PlanScope & { deleteVersioned?: true; yes?: true };

/**
 * Starts a run after a question, and follows it unless --no-wait was given. Throws `move_failed` when a move of it
 * failed.
 */
const run = verb({
  summary: 'move and delete now what the policies say',
  description:
    'Does now what the policies say: first it tells what, and asks if anything would be deleted; then it shows the progress. Ctrl-C leaves the run at work.',
  examples: [
    'svcctl retention run',
    'svcctl retention run --tenant TX --before 2001-05-01',
    'svcctl retention run --yes --no-wait',
    'svcctl retention run --tenant TX --delete-versioned',
  ],
  options: [
    ...scopeOptions,
    ['--delete-versioned', 'delete what is due of dataset versions too'],
    ['--no-wait', 'print the run’s id and leave it at work'],
    yesOption,
    ['--json', 'print the run as JSON'],
  ],
  async act(context, options) {
    const { tenant, before, json } = options;
    checkDate('--before', before);
    const client = await context.connect();
    await announce(context, client, options);
    const started = await client.json('POST /retention/run', {
      body: { tenant, before, delete_versioned: options.deleteVersioned },
    });
    if (!options.wait) {
      if (json) await printJson(context, started);
      else await context.out.write(`${started.id}\n`);
      context.hint('It is at work. Look: svcctl retention moves');
      return;
    }
    const run = await followRun(context, client, started);
    if (json) await printJson(context, run);
    tellRunEnd(context, run);
    await assertDone(client, run);
  },
});

/** Prints the plan, and asks before anything is deleted. */
async function announce(context: Context, client: Client, options: RunOptions): Promise<void> {
  for await (const { totals, problem } of walkPlan(context, client, options)) {
    context.note(totalsText(totals));
    if (problem !== null) context.note(problem);
    const doomed = [totals.delete, ...(options.deleteVersioned ? [totals.versioned] : [])];
    if (doomed.some(({ count }) => count > 0)) {
      await confirm(context, options.yes, {
        question: deletionQuestion(totals, options),
        act: 'Delete',
        refused: 'Nothing was moved or deleted.',
      });
    }
    return;
  }
}

function deletionQuestion(totals: PlanTotals, { deleteVersioned }: RunOptions): string {
  const gone = totals.delete.count === 0 ? [] : [amount(totals.delete)];
  if (deleteVersioned && totals.versioned.count > 0) {
    gone.push(`${amount(totals.versioned)} that DATASET VERSIONS keep`);
  }
  return `Delete ${gone.join(', and ')} for good?`;
}

/** Starts a verification, or shows the one with this id, and follows it unless --no-wait was given. */
const verify = verb({
  summary: 'check all cold data against the counters',
  description:
    'Reads every object whole and holds it against the catalogue, the catalogue against the objects, and the counters against both. Changes nothing. Ends with 1 when anything differs, and tells what.',
  argument: ['[id]', 'show one that was asked for before, instead of asking for another'],
  examples: [
    'svcctl retention verify',
    'svcctl retention verify --tenant TX --json ok,problems',
    'svcctl retention verify --since 2026-03-05',
    'svcctl retention verify --sample 5',
    'svcctl retention verify vrf_4fTq9Zx7Kq2LmN0p',
  ],
  options: [
    tenantOption,
    ['--since <date>', 'only what was not found right since this date, as 2026-03-05 (UTC)'],
    ['--sample <percent>', 'only so many percent of the objects and counters, as 5 or 0.1'],
    ['--no-wait', 'print the verification’s id and leave it at work'],
    jsonOption,
  ],
  answers: 'POST /retention/verify',
  async act(context, options, id) {
    const { json, tenant, since, sample, wait } = options;
    if (id !== undefined && [tenant, since, sample].some((option) => option !== undefined)) {
      throw usage('Give either an id or --tenant, --since and --sample.');
    }
    checkDate('--since', since);
    const body = { tenant, since, sample_percent: toPercent(sample) };
    const client = await context.connect();
    const started = await start(client, id, body);
    if (!wait && id === undefined) {
      if (json === undefined) await context.out.write(`${started.id}\n`);
      else await printObject(context, JSON.stringify(started), json);
      context.hint(`It is at work. Look: svcctl retention verify ${started.id}`);
      return;
    }
    const verification = wait ? await followVerification(context, client, started) : started;
    if (json !== undefined) await printObject(context, JSON.stringify(verification), json);
    else await printProblems(context, verification.problems);
    if (isAtWork(verification)) {
      const { id: own, state, waiting_for: reason } = verification;
      context.note(`${own} is ${state}${reason === null ? '.' : `: ${reason}`}`);
    }
    assertAgrees(context, verification);
  },
});

/** Throws `usage_invalid` unless the option is missing, or a number above 0 and up to 100. */
function toPercent(sample: string | undefined): number | undefined {
  if (sample === undefined) return undefined;
  const percent = /^\d+(\.\d+)?%?$/.test(sample) ? Number.parseFloat(sample) : 0;
  if (percent > 0 && percent <= 100) return percent;
  throw usage(`--sample: "${sample}" is not a percentage such as 5 or 0.1.`);
}

function start(
  client: Client,
  id: string | undefined,
  body: Record<'tenant' | 'since', string | undefined> & { sample_percent: number | undefined },
): Promise<Verification> {
  return id === undefined
    ? client.json('POST /retention/verify', { body })
    : client.json('GET /retention/verify/:id', { params: { id } });
}

const { word, text, count, bytes } =
  columnsOf<RouteAnswer<'GET /retention/segments'>['data'][number]>();

const segments = list('GET /retention/segments', {
  summary: 'list the objects that hold cold records',
  description:
    'Lists the objects of the store that hold cold records. Those that were replaced stay for the time of grace, and hold records a second time: who reads the store without svcctl reads the live ones.',
  examples: [
    'svcctl retention segments --tenant TX',
    'svcctl retention segments --live --json object_key',
  ],
  filters: { tenant: tenantFilter },
  options: [['--live', 'only those that are read, which hold each cold record once']],
  query: ({ live }: { live?: true }) => ({ state: live && 'live' }),
  columns: [
    text('TENANT', 'tenant'),
    text('OBJECT', 'object_key'),
    word('STATE', 'state'),
    count('RECORDS', 'count'),
    bytes('SIZE', 'size_bytes'),
  ],
  below: { one: 'object' },
});

const table = call('GET /iceberg/v1/namespaces/svcctl/tables/records', {
  summary: 'tell where other engines find the cold records as a table',
  description:
    'Makes a snapshot of the cold records as a table of Apache Iceberg, unless the last one still shows them all, and tells where its metadata lies: DuckDB reads it with iceberg_scan. Other readers ask the catalogue at /iceberg of the service. See docs/iceberg.md.',
  examples: ['svcctl retention table', 'svcctl retention table --json metadata-location'],
  facts(answer, _now, url) {
    const summary = answer.metadata.snapshots.at(-1)?.summary ?? {};
    return [
      ['table', `svcctl.records, by the catalogue at ${url}/iceberg`],
      ['metadata', answer['metadata-location']],
      ['snapshot', String(answer.metadata['current-snapshot-id'])],
      ['records', summary['total-records'] ?? null],
      ['segments', summary['total-data-files'] ?? null],
    ];
  },
});

const adoptStore = verb({
  summary: 'take the store of cold data over for this database',
  description:
    'Of two copies of a database (a clone, a restored backup) on one store of cold data, one writes, and the other one only reads. Makes the one of this service the one that writes. It tells how things are, and asks.',
  examples: ['svcctl retention adopt-store', 'svcctl retention adopt-store --yes'],
  options: [yesOption, ['--json', 'print how the store stands afterwards as JSON']],
  async act(context, { yes, json }) {
    const client = await context.connect();
    const store = await client.json('GET /retention/store', { query: { include: 'missing' } });
    if (store.state === 'own') {
      context.note('The store is this database’s already.');
      if (json) await printJson(context, store);
      return;
    }
    if (store.problem !== null) context.note(store.problem);
    if (store.written_by !== null) context.note(`Last written by ${store.written_by}.`);
    if (store.segments !== null && store.segments_missing !== null) {
      context.note(
        `It lacks ${formatCount(store.segments_missing)} of the ${numberOf(store.segments, 'object')} that this database knows${store.segments_missing === 0 ? '.' : ': their days cannot be read here.'}`,
      );
    }
    await confirm(context, yes, {
      question:
        'Stop the other service first. It will only read, and miss what is merged or deleted here. Take the store over?',
      act: 'Take it over',
      refused: 'Nothing was changed.',
    });
    const adopted = await client.json('POST /retention/adopt-store', {});
    if (json) await printJson(context, adopted);
    context.note('The store is this database’s now.');
    context.hint('See what is missing: svcctl retention verify');
  },
});

export const retention: Verbs = {
  plan,
  run,
  'adopt-store': adoptStore,
  moves,
  move,
  segments,
  table,
  verify,
  forget,
  orphans,
  policy,
};
