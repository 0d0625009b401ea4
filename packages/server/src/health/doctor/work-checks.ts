import type { Trouble } from '../../overview/contract.ts';
import type { TroubleKind } from '../../overview/values.ts';
import { type Check, type Examined, nameOf, numberOf, type Wrong } from './check.ts';
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
    async run({ findTroubles }) {
      // The store has a check of its own, which says more.
      const troubles = (await findTroubles()).filter(({ kind }) => kind !== 'store_unusable');
      return troubles.map(toWrong);
    },
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
    severity: 'warning',
    async run({ findLastBackup }): Promise<Wrong[]> {
      const last = await findLastBackup();
      if (last === undefined) return [{ found: 'there is no backup that svcctl has made' }];
      const days = (Date.now() - Date.parse(last.taken_at)) / 86_400_000;
      if (days < 2) return [];
      const found = `the last good backup is ${Math.floor(days)} days old (${last.place})`;
      return [{ found, severity: days < 14 ? 'warning' : 'problem' }];
    },
    well: 'there is a good backup of the last two days',
    remedy: 'Make one, and have it made each day; docs/operations.md says how.',
  },
];

const lookedAt = 20_000;

function isUnusable(state: string | null): boolean {
  return state === 'elsewhere' || state === 'unclaimed' || state === 'unavailable';
}

/** What each trouble of OVERVIEW is here. */
const troubleRows = {
  verification_differs: [
    'problem',
    (count) => `the last verification found ${numberOf(count, 'difference')}`,
  ],
  store_unusable: ['problem', () => 'the store of cold data cannot be used'],
  // Both have a check of their own; doctor asks for neither here.
  disk_nearly_full: ['warning', (count) => `${numberOf(count, 'disk')} nearly full`],
  backup_overdue: ['warning', () => 'the last good backup is too old'],
  endpoints_failing: ['warning', (count) => `${numberOf(count, 'endpoint')} failing`],
  endpoints_disabled: [
    'warning',
    (count) => `${numberOf(count, 'endpoint')} disabled after days of failures`,
  ],
  endpoints_gone: ['warning', (count) => `${numberOf(count, 'endpoint')} gone (410)`],
  deliveries_abandoned: [
    'warning',
    (count) => `${numberOf(count, 'delivery', 'deliveries')} abandoned`,
  ],
  run_failed: ['problem', (count) => `the last retention run failed (${numberOf(count, 'move')})`],
  verification_failed: ['problem', () => 'the last verification could not be finished'],
  notices_undelivered: [
    'warning',
    (count) => `notices do not reach ${numberOf(count, 'target')} (svcctl notify ls)`,
  ],
} as const satisfies Record<
  TroubleKind,
  readonly ['warning' | 'problem', (count: number) => string]
>;

function toWrong({ kind, count }: Trouble): Wrong {
  const [severity, text] = troubleRows[kind];
  return { found: text(count), severity };
}

/** A minute of the schedule that has passed without its run, runs that nobody takes up, cold data not verified. */
async function findOverdue({ db, processes, nextRun, verifyDays }: Examined): Promise<Wrong[]> {
  const { lastScheduledMillis, waiting, unverified } = await readOverdue(db, verifyDays);
  const movers = processes.filter(({ roles }) => roles.includes('retention'));
  const since = Math.min(...movers.map((row) => Date.parse(row.since)));
  const wrong: Wrong[] = [];
  // Before there was a process to do it, none was due.
  const due = nextRun(
    Math.max(lastScheduledMillis ?? 0, Number.isFinite(since) ? since : Date.now()),
  );
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
