import {
  exportFormats,
  missingRules,
  runEventTypes,
  scheduleStarts,
} from '../../exports/values.ts';
import { scheduleFilters } from '../../exports/view.ts';
import { formatCount } from '../../kernel/values.ts';
import { datasetNames } from '../../records/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer, RouteInput } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { type Facts, moment, type Times, utc, whereAny } from '../details.ts';
import { type ExportJob, exportJobColumns, stateText } from '../exports/jobs.ts';
import { templateOf, templateWords } from '../exports/template.ts';
import { formatRelative } from '../format.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import type { Given, Verbs } from '../verb.ts';

type Schedule = RouteAnswer<'GET /exports/schedules/:id'>;
type Body = RouteInput<'POST /exports/schedules'>['body'];

const argument = ['<id>', 'the schedule’s id, as svcctl schedules ls prints it'] as const;
const id = 'sch_4fTq9Zx7Kq2LmN0p';

const { word, text, ago } = columnsOf<Schedule>();

const ls = list('GET /exports/schedules', {
  summary: 'list the schedules, and how their last runs went',
  description: 'Lists the schedules by tenant and name, and how their last runs went.',
  examples: ['svcctl schedules ls --tenant TX', 'svcctl schedules ls --json id,name,state,due_at'],
  filters: scheduleFilters,
  columns: [
    word('ID', 'id'),
    text('TENANT', 'tenant'),
    word('NAME', 'name'),
    word('CRON', 'cron'),
    word('STATE', 'state'),
    ago('NEXT', 'due_at'),
    ago('DELIVERED', (row) => row.last_run?.delivered_at ?? null),
    text('TO', 'to', { isCutInMiddle: true }),
  ],
  below: {
    none: "No schedules. Make one: svcctl schedules create --tenant TENANT --cron '0 2 * * *' --to …",
    one: 'schedule',
    next: 'its runs: svcctl schedules history ID',
  },
});

function facts(row: Schedule, times: Times): Facts {
  const last = row.last_run;
  return [
    ['id', row.id],
    ['tenant', row.tenant],
    ['name', row.name],
    ['state', row.state],
    ['cron', `${row.cron} (UTC)`],
    ['next run', row.due_at === null ? 'paused' : moment(row.due_at, times)],
    ['format', row.format],
    ['request', JSON.stringify(row.request)],
    ...whereAny(
      'columns of fields',
      row.schema && `${row.schema.columns.length}, the same in all runs`,
    ),
    ['to', row.to],
    ...whereAny('access key', row.access_key_id),
    ...whereAny('webhook', row.webhook ? runEventTypes.join(', ') : null),
    [
      'delivered',
      row.delivered_before && `what was stored before ${times.at(row.delivered_before)}`,
    ],
    ['last run', last && `${last.id}, ${last.state}, ${moment(last.created_at, times)}`],
    ...whereAny('its rows', last?.rows == null ? null : formatCount(last.rows)),
    ...whereAny('fit no column', last?.misfits == null ? null : formatCount(last.misfits)),
    ...whereAny('skipped', last?.skipped == null ? null : formatCount(last.skipped)),
    ...whereAny('its folder', last?.delivered_to),
    // A run whose file was erased since had gone well.
    ...whereAny(last?.state === 'erased' ? 'since then' : 'error', last?.error),
    ['made', `${moment(row.created_at, times)} by ${row.created_by}`],
  ];
}

const show = call('GET /exports/schedules/:id', {
  summary: 'show a schedule',
  description: 'Shows a schedule, how far it has delivered, and its last run; never its secret.',
  argument,
  examples: [`svcctl schedules show ${id}`, `svcctl schedules show ${id} --json due_at,last_run`],
  facts,
  next: (_row, given) => `its runs: svcctl schedules history ${given}`,
});

const credentialOptions = [
  ['--access-key-id <id>', 'of S3: the id of a key that may write, read and delete there'],
  ['--secret-access-key <key>', 'its secret; - reads it from stdin'],
] as const;
type Credentials = Given<typeof credentialOptions>;

const create = call('POST /exports/schedules', {
  summary: 'have exports delivered by themselves',
  description:
    'Makes a schedule: each run delivers what was stored since the last one that was delivered, into a folder of its own, with manifest.json, and with _SUCCESS last. The place is tried first. Prints the id of the schedule.',
  examples: [
    "svcctl schedules create --tenant TX --cron '0 2 * * *' --format parquet --to '/srv/exports/{tenant}/{date}'",
    "svcctl schedules create --tenant TX --cron '0 2 * * *' --format parquet --to 's3://acme/{tenant}/{date}?region=eu-central-1' --access-key-id AKIAIOSFODNN7EXAMPLE --secret-access-key - < secret.txt",
    "svcctl schedules create --tenant TX --name sure --cron '*/15 * * * *' --format ndjson --to /srv/exports/sure --where 'score >= 0.9' --starts now",
    "svcctl schedules create --tenant TX --cron '0 2 * * *' --to /srv/exports/typed --typed --webhook",
  ],
  options: [
    ['--tenant <tenant>', 'whose records (required)'],
    ['--cron <fields>', 'when, in UTC: minute, hour, day, month, weekday (required)'],
    ['--to <place>', 'a folder that the service may write in, or s3://bucket/path (required)'],
    ['--format <format>', 'of the files (default: parquet)', exportFormats],
    ['--name <name>', 'what it is called; there is one of each name in a tenant'],
    ...credentialOptions,
    ['--store <store>', 'only of this store'],
    ['--kind <kind>', 'only of this kind'],
    ['--dataset <dataset>', 'only what is tagged so when a run begins', datasetNames],
    ['--where <condition>', 'only what this holds for; see docs/where.md'],
    ['--columns <columns>', 'columns, separated by commas'],
    [
      '--typed',
      'Parquet with fields as columns, as they are in what is stored now (docs/schedules.md)',
    ],
    ['--template <template>', `NDJSON of other lines: ${templateWords}`],
    [
      '--missing <rule>',
      'what becomes of a record without a value for the template: skip leaves it out and counts it, refuse fails the run (default: skip)',
      missingRules,
    ],
    [
      '--starts <with>',
      'all: with all that is stored (default); now: with what comes',
      scheduleStarts,
    ],
    ['--webhook', `report the end of each run as an incident: ${runEventTypes.join(', ')}`],
  ],
  body: async (options, context) => {
    const { template, columns, accessKeyId: _id, secretAccessKey: _key, ...asked } = options;
    return {
      ...asked,
      format: asked.format ?? 'parquet',
      template: await templateOf(context, template),
      columns: columns?.split(','),
      credentials: await credentialsOf(context, options),
    };
  },
  prints: ({ id }) => id,
  done(_id, { name, tenant, due_at: at }, { nowMillis }) {
    const when = at ? formatRelative(at, nowMillis) : 'never';
    return `Made ${name} of ${tenant}. The first run begins ${when}.`;
  },
  next: (made) => `begin one now: svcctl schedules run ${made.id}`,
});

async function credentialsOf(
  context: Context,
  { accessKeyId, secretAccessKey }: Credentials,
): Promise<Body['credentials']> {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw usage('--access-key-id and --secret-access-key need each other.');
  }
  if (secretAccessKey !== '-') {
    return { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  }
  const { readFirstLine } = await import('../confirm.ts');
  return { access_key_id: accessKeyId, secret_access_key: await readFirstLine(context) };
}

const switches = ['on', 'off'] as const;

const change = call('PATCH /exports/schedules/:id', {
  summary: 'change when a schedule runs, where it delivers, and whether it tells',
  description:
    'Changes when a schedule runs, where it delivers, the key of S3 that it delivers with, or whether the end of each run is reported as an incident. A place or key is tried first. What was delivered stays where it is, and a run that is under way ends where it began.',
  argument,
  examples: [
    `svcctl schedules change ${id} --cron '0 4 * * *'`,
    `svcctl schedules change ${id} --to '/srv/exports/new/{date}'`,
    `svcctl schedules change ${id} --access-key-id AKIAIOSFODNN7EXAMPLE --secret-access-key - < secret.txt`,
  ],
  options: [
    ['--cron <fields>', 'when, in UTC: minute, hour, day, month, weekday'],
    ['--to <place>', 'the folder, or s3://bucket/path, that it delivers to from its next run on'],
    ...credentialOptions,
    ['--webhook <switch>', 'on: report the end of each run as an incident; off: no more', switches],
  ],
  changes:
    'Say what to change: --cron, --to, --webhook, or --access-key-id and --secret-access-key.',
  async body(options, context) {
    const credentials = await credentialsOf(context, options);
    const { cron, to, webhook } = options;
    return { cron, to, credentials, webhook: webhook && webhook === 'on' };
  },
  done(_id, { name, due_at: at, state }, { options: { to }, nowMillis }) {
    const next = at === null ? 'It is paused.' : `It runs next ${formatRelative(at, nowMillis)}.`;
    const late = to !== undefined && state === 'running';
    return `Changed ${name}. ${next}${late ? ' The run that is under way ends where it began.' : ''}`;
  },
});

const pause = call('PATCH /exports/schedules/:id', {
  summary: 'pause a schedule',
  description: 'Pauses a schedule: no run begins by itself. One that is under way goes on.',
  argument,
  examples: [`svcctl schedules pause ${id}`],
  body: () => ({ enabled: false }),
  done: (_id, { name }) => `Paused ${name}. What is stored meanwhile goes out once it is resumed.`,
});

const resume = call('PATCH /exports/schedules/:id', {
  summary: 'have a paused schedule go on',
  description: 'Has a paused schedule go on: its next run delivers all that was stored meanwhile.',
  argument,
  examples: [`svcctl schedules resume ${id}`],
  body: () => ({ enabled: true }),
  done: (_id, { name, due_at: at }) => `${name} goes on. Its next run: ${utc(at ?? '')}.`,
});

const run = call('POST /exports/schedules/:id/run', {
  summary: 'begin a run now',
  description: 'Begins a run now, or after the one that is under way. Also of a paused schedule.',
  argument,
  examples: [`svcctl schedules run ${id}`],
  done: (given, { name }) =>
    `A run of ${name} begins. Follow it: svcctl schedules history ${given}`,
});

const job = columnsOf<ExportJob>();

const history = list('GET /exports', {
  summary: 'list the runs of a schedule',
  description: 'Lists the runs of a schedule, the latest first, and where they delivered.',
  argument,
  examples: [
    `svcctl schedules history ${id}`,
    `svcctl schedules history ${id} --json id,state,rows_done,delivered_to,delivered_at`,
  ],
  query: (_options, schedule) => ({ schedule }),
  limit: { of: 'runs', rows: 50 },
  columns: [
    ...exportJobColumns.filter(({ title }) => ['ID', 'ROWS', 'BYTES'].includes(title)),
    job.word('STATE', 'state', { shown: stateText }),
    job.ago('BEGUN', 'created_at'),
    job.ago('DELIVERED', 'delivered_at'),
    job.text('TO', 'delivered_to', { isCutInMiddle: true }),
    job.text('ERROR', 'error', { givesWay: 1 }),
  ],
  below: { none: 'No run yet. Begin one: svcctl schedules run ID', one: 'run' },
});

const remove = call('DELETE /exports/schedules/:id', {
  summary: 'delete a schedule',
  description: 'Deletes a schedule, and cancels a run that is under way. What was delivered stays.',
  argument,
  examples: [`svcctl schedules delete ${id}`, `svcctl schedules delete ${id} --yes`],
  asks: {
    question: ([given]) => `Delete ${given}? Nothing more is delivered by it.`,
    act: 'Delete',
    refused: 'Nothing was deleted.',
  },
  done: (given) => `Deleted ${given}.`,
});

export const schedules: Verbs = {
  create,
  ls,
  show,
  change,
  pause,
  resume,
  run,
  history,
  delete: remove,
};
