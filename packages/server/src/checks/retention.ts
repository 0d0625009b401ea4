import { numberOf } from '../kernel/values.ts';
import { type Check, ifAny, type Look, type ToldCheck } from './check.ts';
import { mostUnverified } from './queries.ts';

const verificationPlace = (id?: string) =>
  id === undefined ? '#/retention' : `#/retention?panel=verification/${id}`;
const verifyCommand = (id?: string) =>
  id === undefined ? 'svcctl retention verify' : `svcctl retention verify ${id}`;

const retentionRemedy =
  'Look for a live process with the role retention (svcctl ps), and at its log.';

/** Whether cold data is there and right, and moves as it should. */
export const retentionChecks: readonly (Check | ToldCheck)[] = [
  {
    name: 'verification_differs',
    row: 'troubles',
    severity: 'critical',
    holdSeconds: 0,
    isSingle: true,
    async look({ retention }) {
      const verification = (await retention()).retention?.verification;
      if (verification?.ok !== false) return [];
      const { id, problem_count: count } = verification;
      return ifAny(count, `the last verification found ${numberOf(count, 'difference')}`, { id });
    },
    well: 'the last verification found no difference',
    remedy:
      'Do not erase, delete or move anything before they are understood: docs/operations/cold-data.md.',
    command: verifyCommand,
    place: verificationPlace,
  },
  {
    name: 'store_unusable',
    row: 'store',
    severity: 'critical',
    holdSeconds: 300,
    look: async ({ storeProblems }) => (await storeProblems()).map((text) => ({ text })),
    many: () => 'the store of cold data cannot be used',
    well: 'the store of cold data can be used, and belongs to this database',
    remedy:
      'Nothing moves, and cold records may be unreadable. Give access to the store, mend SVC_BLOB_URL, or take the store over (svcctl retention adopt-store).',
    command: () => 'svcctl retention plan',
    place: () => '#/retention',
  },
  {
    name: 'removals_overdue',
    row: 'troubles',
    severity: 'critical',
    holdSeconds: 300,
    async look({ overdueRemovals }) {
      const count = await overdueRemovals();
      const text = `${numberOf(count, 'object is', 'objects are')} still in the store that should have been removed`;
      return ifAny(count, text);
    },
    well: 'no object is in the store that should have been removed',
    remedy:
      'What was deleted or erased may still be in them. The log of the processes with the role retention says why, and a verification lists them.',
    command: () => 'svcctl retention verify',
    place: () => '#/retention',
  },
  {
    name: 'store_waited_for',
    row: 'troubles',
    severity: 'warning',
    holdSeconds: 300,
    async look({ retention, exports, counts }) {
      const work = [...(await retention()).work, ...(await exports()), ...(await counts())];
      const count = work.filter(({ state }) => state === 'waiting').length;
      const who = numberOf(
        count,
        'run, verification, export or count waits',
        'runs, verifications, exports or counts wait',
      );
      return ifAny(count, `${who} for the store of cold data`);
    },
    well: 'nothing waits for the store of cold data',
    remedy:
      'They go on by themselves when it answers, and all but counts fail after an hour: svcctl jobs ls --state waiting.',
    command: () => 'svcctl retention plan',
    place: () => '#/retention',
  },
  {
    name: 'run_failed',
    row: 'troubles',
    severity: 'warning',
    holdSeconds: 0,
    isSingle: true,
    async look({ retention }) {
      const run = (await retention()).retention?.run;
      if (run?.ok !== false) return [];
      const count = Math.max(1, run.failed_moves);
      const text = `the last retention run failed (${numberOf(count, 'move')})`;
      return [{ text, count, id: run.id }];
    },
    well: 'the last retention run did not fail',
    remedy:
      'Nothing is lost: records stay where they were, and the next run plans those days anew.',
    command: (id) =>
      id === undefined
        ? 'svcctl retention moves --state failed'
        : `svcctl retention moves --run ${id}`,
    place: (id) => (id === undefined ? '#/retention' : `#/retention?view=journal&run=${id}`),
  },
  {
    name: 'verification_failed',
    row: 'troubles',
    severity: 'warning',
    holdSeconds: 0,
    isSingle: true,
    async look({ retention }) {
      const verification = (await retention()).retention?.verification;
      if (verification?.ok !== null || verification === undefined) return [];
      return [{ text: 'the last verification could not be finished', id: verification.id }];
    },
    well: 'the last verification came to its end',
    remedy:
      'It says nothing about the data. Mostly the store did not answer: the log says why. Then start another one.',
    command: verifyCommand,
    place: verificationPlace,
  },
  {
    name: 'counters',
    severity: 'critical',
    look: async ({ sampleCounters }) =>
      (await sampleCounters()).map(({ tenant, text }) => ({ text, id: tenant })),
    well: 'the counters of the sampled days are what they count',
    remedy: 'svcctl retention verify compares all of them. Make anew those that differ.',
    command: () => 'svcctl records recount',
  },
  {
    name: 'run_overdue',
    row: 'runs',
    severity: 'critical',
    look: findMissedRun,
    well: 'the scheduled retention runs were begun',
    remedy: retentionRemedy,
    command: () => 'svcctl retention run',
  },
  {
    name: 'run_waits',
    row: 'runs',
    severity: 'critical',
    async look({ overdue }) {
      const { waiting: count } = await overdue();
      return ifAny(count, `${numberOf(count, 'retention run')} waited for more than an hour`);
    },
    well: 'no retention run waits for somebody to begin it',
    remedy: retentionRemedy,
    command: () => 'svcctl ps',
  },
  {
    name: 'cold_data_unverified',
    row: 'runs',
    severity: 'warning',
    async look({ overdue, verifyDays }) {
      const { unverified: count } = await overdue();
      const segments = `${numberOf(count, 'segment')}${count === mostUnverified ? ' or more' : ''}`;
      const time = `twice SVC_VERIFY_DAYS (${verifyDays})`;
      return ifAny(count, `${segments} not verified within ${time}`);
    },
    well: 'cold data is verified on schedule',
    remedy: retentionRemedy,
    command: () => 'svcctl retention verify',
  },
];

const graceMillis = 3_600_000;

/** A minute of the schedule has passed without its run. */
async function findMissedRun({ overdue, nextRun }: Look) {
  const due = nextRun((await overdue()).lastQueuedMillis);
  if (due === null || due >= Date.now() - graceMillis) return [];
  const at = new Date(due).toISOString().slice(0, 16).replace('T', ' ');
  return [{ text: `the retention run scheduled for ${at} UTC was not begun` }];
}
