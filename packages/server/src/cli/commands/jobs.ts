import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { JobKindName } from '../../platform/jobs/values.ts';
import { jobFilters } from '../../platform/jobs/view.ts';
import { call } from '../act.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { type Facts, moment, type Times, whereAny } from '../details.ts';
import { followJob } from '../follow-job.ts';
import { formatBytes } from '../format.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';
import { parseRate } from '../webhooks/bulk-jobs.ts';

type Job = RouteAnswer<'GET /jobs/:id'>;

const { word, text, ago } = columnsOf<Job>();
const argument = ['<id>', 'the job’s id, as svcctl jobs ls prints it'] as const;

const ls = list('GET /jobs', {
  summary: 'list the jobs of all kinds',
  description:
    'Lists exports, retention runs, verifications, bulk retries and purges, replays, countings of dataset versions, counts of records and imports of files, the latest first: those of the kinds that the token may read.',
  examples: [
    'svcctl jobs ls',
    'svcctl jobs ls --state running',
    'svcctl jobs ls --kind export --tenant TX --json id,state,progress',
  ],
  filters: jobFilters,
  limit: { of: 'jobs', rows: 50 },
  columns: [
    word('ID', 'id'),
    word('KIND', 'kind'),
    word('STATE', 'state'),
    word('DONE', ({ progress }) => percentOf(progress)),
    ago('ASKED FOR', 'requested_at'),
    text('BY', ({ requested_by: by }) => by ?? 'the schedule'),
    text('WHAT', 'summary'),
  ],
  below: {
    none: 'No jobs that match, of those that this token may see.',
    one: 'job',
    next: 'look at one: svcctl jobs show ID',
  },
});

function percentOf(progress: Job['progress']): string | null {
  if (!progress?.total) return null;
  return `${Math.floor((100 * progress.done) / progress.total)} %`;
}

/** How far it is: `364,120 of 512,991 records`. */
function progressText(progress: Job['progress']): string | null {
  if (progress === null) return null;
  const { done, total, unit } = progress;
  const most = total ?? done;
  const all = unit === 'bytes' ? formatBytes(most) : numberOf(most, oneOf[unit], unit);
  if (most === done) return all;
  return `${unit === 'bytes' ? formatBytes(done) : formatCount(done)} of ${all}`;
}

const oneOf = { records: 'record', deliveries: 'delivery' } as const;

function facts(job: Job, times: Times): Facts {
  return [
    ['id', job.id],
    ['kind', job.kind],
    ['what', job.summary],
    ['state', job.state],
    ...whereAny('error', job.error),
    ...whereAny('tenant', job.tenant),
    ...whereAny('done', progressText(job.progress)),
    ['asked for', `${moment(job.requested_at, times)} by ${job.requested_by ?? 'the schedule'}`],
    ...whereAny('started', moment(job.started_at, times)),
    ...whereAny('finished', moment(job.finished_at, times)),
    ['all of it', `GET ${job.href}`],
  ];
}

const show = call('GET /jobs/:id', {
  summary: 'show a job of any kind',
  description: 'Shows a job: what it does, how far it is, and why it failed.',
  argument,
  examples: [
    'svcctl jobs show run_4fTq9Zx7Kq2LmN0p',
    'svcctl jobs show ver_4fTq9Zx7Kq2LmN0p --json',
  ],
  facts,
  next: ({ progress }, id) =>
    progress?.unit === 'deliveries' ? `its deliveries: svcctl deliveries ls --job ${id}` : null,
});

/** The role of the processes that do jobs of a kind. */
const roles: Readonly<Record<JobKindName, string>> = {
  export: 'exports',
  version: 'exports',
  count: 'exports',
  run: 'retention',
  verification: 'retention',
  retry: 'api',
  purge: 'api',
  replay: 'api',
  import: 'api',
};

const wait = call('GET /jobs/:id', {
  summary: 'wait until a job has ended',
  description:
    'Follows a job of any kind until it has ended, then shows it. Ends with 1 when it failed or was cancelled.',
  argument,
  examples: ['svcctl jobs wait vrf_4fTq9Zx7Kq2LmN0p'],
  async read(context, client, _options, id) {
    const started = await client.json('GET /jobs/:id', { params: { id } });
    const ended = await followJob(context, client, {
      route: 'GET /jobs/:id',
      started,
      role: roles[started.kind],
      far: ({ progress }) => progress ?? { done: 0, total: null },
      describe: (_done, _total, job) => progressText(job.progress) ?? '',
      waits: ({ state, error }) => [
        state === 'waiting' ? `${id} waits, and goes on by itself: ${error ?? ''}` : null,
        state === 'paused'
          ? `${id} is paused. ${error ?? `Go on: svcctl jobs resume ${id}`}`
          : null,
      ],
      goesOn: `The job goes on without this command. Look: svcctl jobs show ${id}`,
    });
    if (ended.state === 'failed' || ended.state === 'cancelled') {
      const how = ended.state === 'failed' ? `failed: ${ended.error}` : 'was cancelled.';
      throw new AppError('job_failed', { detail: `${id} ${how}\nLook: svcctl jobs show ${id}` });
    }
    return ended;
  },
  facts,
});

const cancel = call('POST /jobs/:id/cancel', {
  summary: 'cancel jobs',
  description:
    'Cancels exports, counts, imports, bulk retries, bulk purges and replays that have not ended; jobs of other kinds go on to their end. What they have done stays.',
  argument: ['<id...>', 'ids, as svcctl jobs ls prints them'],
  examples: ['svcctl jobs cancel exp_4fTq9Zx7Kq2LmN0p'],
  done: (id) => `Cancelled ${id}.`,
});

/** Changes a job by the route of its kind. Throws `usage_invalid` for one of another kind. */
async function changeJob(
  client: Client,
  id: string,
  body: { state: 'paused' | 'running'; rate?: number | null },
): Promise<Job> {
  const { kind } = await client.json('GET /jobs/:id', { params: { id } });
  const input = { params: { id }, body };
  if (kind === 'replay') await client.json('PATCH /webhook/replays/:id', input);
  else if (kind === 'retry' || kind === 'purge') {
    await client.json('PATCH /webhook/dlq/jobs/:id', input);
  } else if (kind === 'count') {
    const { state, rate } = body;
    if (rate != null) throw usage(`${id}: a count has no --rate.`);
    await client.json('PATCH /enrichment/records/counts/:id', { params: { id }, body: { state } });
  } else {
    const what = 'only counts, bulk retries, bulk purges and replays can be paused';
    throw usage(`${id} is of the kind ${kind}: ${what}.`);
  }
  return client.json('GET /jobs/:id', { params: { id } });
}

const pause = call('GET /jobs/:id', {
  summary: 'hold a count, a bulk retry, a bulk purge or a replay',
  description:
    'Holds a count, a bulk retry, a bulk purge or a replay where it is. What it has done stays so; jobs of other kinds cannot be held.',
  argument,
  examples: ['svcctl jobs pause rpl_4fTq9Zx7Kq2LmN0p'],
  read: (_context, client, _options, id) => changeJob(client, id, { state: 'paused' }),
  done: (id, { progress }) =>
    `Paused ${id} at ${progressText(progress)}. Go on: svcctl jobs resume ${id}`,
});

const resume = call('GET /jobs/:id', {
  summary: 'let a held job go on',
  description:
    'Lets a count, a bulk retry, a bulk purge or a replay go on that was held. --rate changes its pace, also of one that runs.',
  argument,
  examples: [
    'svcctl jobs resume rpl_4fTq9Zx7Kq2LmN0p',
    'svcctl jobs resume rpl_4fTq9Zx7Kq2LmN0p --rate 50',
  ],
  options: [
    ['--rate <rows>', 'deliveries a second, at most; none = as fast as it goes', parseRate],
  ],
  read(_context, client, { rate }, id) {
    const given = rate === undefined ? {} : { rate: rate === 'none' ? null : rate };
    return changeJob(client, id, { state: 'running', ...given });
  },
  done: (id) => `${id} goes on. Look: svcctl jobs show ${id}`,
});

export const jobs: Verbs = { ls, show, wait, pause, resume, cancel };
