import { type Check, ifAny, numberOf } from './check.ts';

const verificationPlace = (id?: string) =>
  id === undefined ? '#/retention' : `#/retention?panel=verification/${id}`;
const verifyCommand = (id?: string) =>
  id === undefined ? 'svcctl retention verify' : `svcctl retention verify ${id}`;

/** Whether cold data is there and right, and moves as it should. */
export const retentionChecks: readonly Check[] = [
  {
    name: 'verification_differs',
    severity: 'critical',
    holdSeconds: 0,
    isSingle: true,
    async look({ retention }) {
      const verification = (await retention()).retention?.verification;
      if (verification?.ok !== false) return [];
      const { id, problem_count: count } = verification;
      return ifAny(count, `the last verification found ${numberOf(count, 'difference')}`, { id });
    },
    remedy:
      'Do not erase, delete or move anything before they are understood: docs/operations.md, "Cold data and retention".',
    command: verifyCommand,
    place: verificationPlace,
  },
  {
    name: 'store_unusable',
    severity: 'critical',
    holdSeconds: 300,
    look: async ({ storeProblems }) => (await storeProblems()).map((text) => ({ text })),
    many: () => 'the store of cold data cannot be used',
    remedy:
      'Cold records cannot be read, and nothing moves. Give access to the store, mend SVC_BLOB_URL, or take the store over (svcctl retention adopt-store).',
    command: () => 'svcctl retention plan',
    place: () => '#/retention',
  },
  {
    name: 'removals_overdue',
    severity: 'critical',
    holdSeconds: 300,
    async look({ overdueRemovals }) {
      const count = await overdueRemovals();
      const text = `${numberOf(count, 'object is', 'objects are')} still in the store that should have been removed`;
      return ifAny(count, text);
    },
    remedy:
      'What was deleted or erased may still be in them. The log of the processes with the role retention says why, and a verification lists them.',
    command: () => 'svcctl retention verify',
    place: () => '#/retention',
  },
  {
    name: 'store_waited_for',
    severity: 'warning',
    holdSeconds: 300,
    async look({ retention, exports }) {
      const work = [...(await retention()).work, ...(await exports())];
      const count = work.filter(({ state }) => state === 'waiting').length;
      const who = numberOf(
        count,
        'run, verification or export waits',
        'runs, verifications or exports wait',
      );
      return ifAny(count, `${who} for the store of cold data`);
    },
    remedy:
      'They go on by themselves when it answers, and fail after an hour: svcctl retention moves, svcctl exports ls.',
    command: () => 'svcctl retention plan',
    place: () => '#/retention',
  },
  {
    name: 'run_failed',
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
    severity: 'warning',
    holdSeconds: 0,
    isSingle: true,
    async look({ retention }) {
      const verification = (await retention()).retention?.verification;
      if (verification?.ok !== null || verification === undefined) return [];
      return [{ text: 'the last verification could not be finished', id: verification.id }];
    },
    remedy:
      'It says nothing about the data. Mostly the store did not answer: the log says why. Then start another one.',
    command: verifyCommand,
    place: verificationPlace,
  },
];
