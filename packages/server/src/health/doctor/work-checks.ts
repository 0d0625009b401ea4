import { numberOf } from '../../kernel/values.ts';
import { troubleTexts } from '../../overview/values.ts';
import { type Check, type Examined, nameOf, type Problem, severityOf } from './check.ts';
import { countStuckLeases, readOverdue } from './queries.ts';

/** What the service is there for: records, cold data, webhooks, backups. */
export const workChecks: readonly Check[] = [
  {
    name: 'store',
    severity: 'problem',
    async run({ findStoreProblem, processes, processId }) {
      const own = await findStoreProblem();
      const others = processes.filter(
        (row) => row.state === 'live' && row.id !== processId && isUnusable(row.store_state),
      );
      return [
        ...(own === null ? [] : [{ found: own }]),
        ...others.map((row) => ({
          found: `the store of cold data is ${row.store_state} for ${nameOf(row)}`,
        })),
      ];
    },
    well: 'the store of cold data can be used, and belongs to this database',
    remedy:
      'svcctl retention plan says what to do: give access to the store, mend SVC_BLOB_URL, or svcctl retention adopt-store.',
  },
  {
    name: 'troubles',
    severity: 'problem',
    run: async ({ findTroubles }) =>
      (await findTroubles()).map(({ kind, count }) => ({
        found: troubleTexts[kind](count),
        severity: severityOf(kind),
      })),
    well: 'OVERVIEW tells no trouble',
    remedy: 'See it on OVERVIEW, or in svcctl status, whose lines lead to where it is mended.',
  },
  {
    name: 'leases',
    severity: 'problem',
    async run({ db }) {
      const count = await countStuckLeases(db, lookedAt);
      return count === 0
        ? []
        : [{ found: `${numberOf(count, 'delivery', 'deliveries')} that wait have a stuck lease` }];
    },
    well: 'no delivery has a stuck lease',
    remedy:
      'Look for a drainer that lives (svcctl ps). A lease far in the future comes from a clock that was wrong: set leased_until of these deliveries to null.',
  },
  {
    name: 'counters',
    severity: 'problem',
    run: async ({ sampleCounters }) => (await sampleCounters()).map((found) => ({ found })),
    well: 'the counters of the sampled days are what they count',
    remedy: 'svcctl retention verify compares all of them, and says what to do.',
  },
  {
    name: 'runs',
    severity: 'problem',
    run: findOverdue,
    well: 'retention and verification are on schedule',
    remedy:
      'Look for a live process with the role retention (svcctl ps), and at its log; svcctl retention run and svcctl retention verify do it now.',
  },
  {
    name: 'backups',
    severity: severityOf('backup_overdue'),
    async run({ findOverdueBackup }): Promise<Problem[]> {
      const last = await findOverdueBackup();
      if (last === null) return [];
      if (last === undefined) return [{ found: 'there is no backup that svcctl has made' }];
      const days = (Date.now() - Date.parse(last.taken_at)) / 86_400_000;
      return [{ found: `the last good backup is ${Math.floor(days)} days old (${last.place})` }];
    },
    well: 'no backup is overdue',
    remedy:
      'Make one, and have it made each day; docs/operations.md says how. Where something else backs up, say so once: SVC_BACKUP_MAX_AGE_HOURS=0.',
  },
];

const lookedAt = 20_000;

function isUnusable(state: string | null): boolean {
  return state === 'elsewhere' || state === 'unclaimed' || state === 'unavailable';
}

/** A minute of the schedule that has passed without its run, runs that nobody takes up, cold data not verified. */
async function findOverdue({ db, nextRun, verifyDays }: Examined): Promise<Problem[]> {
  const { lastQueuedMillis, waiting, unverified } = await readOverdue(db, verifyDays);
  const wrong: Problem[] = [];
  const due = nextRun(lastQueuedMillis);
  if (due !== null && due < Date.now() - graceMillis) {
    const at = new Date(due).toISOString().slice(0, 16).replace('T', ' ');
    wrong.push({ found: `the retention run scheduled for ${at} UTC was not begun` });
  }
  if (waiting > 0) {
    wrong.push({ found: `${numberOf(waiting, 'retention run')} waited for more than an hour` });
  }
  if (unverified > 0) {
    wrong.push({
      found: `${numberOf(unverified, 'segment')} ${unverified === 10_000 ? 'or more ' : ''}not verified within twice SVC_VERIFY_DAYS (${verifyDays})`,
      severity: 'warning',
    });
  }
  return wrong;
}

const graceMillis = 3_600_000;
