import { hostname } from 'node:os';
import { numberOf } from '../kernel/values.ts';
import { isRunning } from '../platform/is-running.ts';
import { type Check, type Look, nameOf, type Problem, type ToldCheck } from './check.ts';
import type { ProcessRow } from './contract.ts';
import { type Held, listHeld } from './queries.ts';
import { processStateOf } from './values.ts';

const isLive = ({ state }: ProcessRow) => state === 'live';

/** What processes say of themselves, held against each other. */
export const processChecks: readonly Check[] = [
  {
    name: 'processes',
    severity: 'warning',
    look: async (look) => judgeAbsent(await lookAtAll(look)),
    well: 'every process that did not stop by itself says that it lives',
    remedy: 'Look at its log, and start it again.',
    command: () => 'svcctl ps',
    isQuick: true,
  },
  {
    name: 'roles',
    severity: 'critical',
    async look(look) {
      // svcctl drain ends by itself, and then nobody drains.
      const stays = (await lookAtAll(look)).filter(
        (row) => (isLive(row) || wasHeard(row)) && row.command === 'serve',
      );
      const taken = new Set(stays.flatMap(({ roles }) => roles));
      return Object.entries(roleWork)
        .filter(([role]) => !taken.has(role))
        .map(([role, work]) => ({
          text: `no live process has the role ${role}: ${work}`,
          id: role,
        }));
    },
    well: 'each role is taken by a live process',
    remedy: 'Start a process with that role.',
    command: (role) => `SVC_ROLES=${role} svcctl serve`,
    isQuick: true,
  },
  {
    name: 'settings',
    severity: 'warning',
    look: async ({ processes }) => findDisagreements((await processes()).filter(isLive)),
    well: 'all live processes agree on the settings that they share',
    remedy: 'Give all processes the same value, and start the others again.',
    command: () => 'svcctl config',
    isQuick: true,
  },
  {
    name: 'secret_key',
    row: 'settings',
    severity: 'critical',
    async look({ keyFault }) {
      const fault = await keyFault();
      return fault === null ? [] : [{ text: `the next start will fail: ${fault}` }];
    },
    well: 'the key of webhook secrets is here',
    remedy:
      'Before any process is started again, put the file secret-key back into the data folder, or set SVC_SECRET_KEY to that key: those that run go on with the key that they know. Only if it is lost for good: stop them, and take another one by svcctl keys rotate --lost.',
    command: () => 'svcctl keys ls',
  },
  {
    name: 'releases',
    severity: 'warning',
    async look({ processes }) {
      const versions = groupBy((await processes()).filter(isLive), ({ version }) => version);
      return versions.length < 2
        ? []
        : [{ text: `processes run different releases: ${valuesText(versions)}` }];
    },
    well: 'all live processes run one release',
    remedy: 'Nothing, while they are being replaced one after the other; else replace the older.',
    command: () => 'svcctl ps',
    isQuick: true,
  },
  {
    name: 'clocks',
    severity: 'warning',
    look: async ({ processes, storeClockAheadMillis }) => [
      ...(await processes())
        .filter(isLive)
        .flatMap((row) =>
          judgeClock(`the clock of ${nameOf(row)}`, 'the database’s', row.clock_ahead_ms).map(
            (problem): Problem => ({ ...problem, id: nameOf(row) }),
          ),
        ),
      ...judgeClock(
        'the clock of the machine that looks',
        'that of the store of cold data',
        storeClockAheadMillis(),
      ),
    ],
    well: 'all clocks are within 2 s of the database’s and the store’s',
    remedy:
      'Have both machines keep time (chrony, NTP). Receivers refuse webhooks whose time is minutes off, and the first and last days of a window shift.',
    isQuick: true,
  },
];

const roleWork = {
  api: 'nothing is answered',
  drainer: 'webhooks wait',
  retention: 'nothing moves to the cold tier, is deleted by policy or verified',
  exports: 'export jobs wait',
} as const;

export function judgeClock(clock: string, other: string, aheadMillis: number | null): Problem[] {
  const seconds = (aheadMillis ?? 0) / 1000;
  const off = Math.abs(seconds);
  if (off < skewSeconds) return [];
  const text = `${clock} is ${off.toFixed(1)} s ${seconds > 0 ? 'ahead of' : 'behind'} ${other}`;
  return [{ text, severity: off < badSkewSeconds ? 'warning' : 'critical' }];
}

const skewSeconds = 2;
const badSkewSeconds = 60;
/** One that went longer ago is told by `svcctl ps` alone. */
const recentSeconds = 3600;

/** A process, and what it holds in the database, as far as that is known. */
type Seen = ProcessRow & { readonly held: Held | null };

async function lookAtAll({ db, processes }: Look): Promise<Seen[]> {
  const rows = await processes();
  const all = rows.every(isLive) ? [] : await listHeld(db);
  return rows.map((row) => {
    // Two machines may have a process of the same number: then nobody knows whose connections they are.
    const isShared = rows.some((other) => other !== row && other.pid === row.pid && isLive(other));
    return { ...row, held: (!isShared && all.find(({ pid }) => pid === row.pid)) || null };
  });
}

/** Whether the database heard lately from a process that has missed beats, as after an outage, in which none came. */
function wasHeard({ held }: Seen): boolean {
  return held !== null && processStateOf(held.heard_seconds) === 'live';
}

/**
 * Processes that have gone without a stop, and nobody has taken their place; and those that keep what they held.
 * `hasEnded` tells that a process of this machine does not run.
 */
export function judgeAbsent(processes: readonly Seen[], hasEnded = endedHere): Problem[] {
  const wrong: Problem[] = [];
  for (const row of processes.filter((each) => !isLive(each) && !wasHeard(each))) {
    const { held } = row;
    const what = row.command === 'serve' ? row.roles.join(', ') : `svcctl ${row.command}`;
    const since = `${nameOf(row)} (${what}) has been silent for ${Math.round(row.silent_seconds)} s`;
    if (held !== null && !hasEnded(row)) {
      const locks = held.locks > 0 ? `, ${numberOf(held.locks, 'lock')} among what they hold` : '';
      wrong.push({
        id: nameOf(row),
        text: `${since}, and its ${numberOf(held.connections, 'connection')} to the database are open${locks}: it is frozen, or too busy to say that it lives`,
        severity: 'critical',
        remedy: `See on its machine whether it still runs (ps ${row.pid}). One that is frozen: let it go on (kill -CONT ${row.pid}) or end it (kill -9 ${row.pid}); either is safe. Of one that is gone the database ends the connections within two minutes.`,
      });
    } else if (row.silent_seconds < recentSeconds && !isReplaced(row, processes)) {
      wrong.push({
        id: nameOf(row),
        text: `${since} and ${held === null ? 'has no connection to the database: it was killed, or is cut off' : 'does not run any more: it was killed'}`,
      });
    }
  }
  return wrong;
}

function endedHere({ host, pid }: ProcessRow): boolean {
  return host === hostname() && !isRunning(pid);
}

function isReplaced(gone: ProcessRow, processes: readonly ProcessRow[]): boolean {
  return processes.some(
    (row) =>
      isLive(row) &&
      row.host === gone.host &&
      row.since > gone.seen_at &&
      gone.roles.every((role) => row.roles.includes(role)),
  );
}

function findDisagreements(live: readonly ProcessRow[]): Problem[] {
  const names = [...new Set(live.flatMap(({ settings }) => Object.keys(settings)))].toSorted();
  return names.flatMap((name) => {
    const heeding = live.filter(({ settings }) => settings[name] !== undefined);
    const values = groupBy(heeding, ({ settings }) => settings[name] ?? '');
    return values.length < 2 ? [] : [{ text: `${name} differs: ${valuesText(values)}`, id: name }];
  });
}

function groupBy(rows: readonly ProcessRow[], pick: (row: ProcessRow) => string) {
  const groups = new Map<string, ProcessRow[]>();
  for (const row of rows) {
    const value = pick(row);
    groups.set(value, [...(groups.get(value) ?? []), row]);
  }
  return [...groups];
}

function valuesText(groups: readonly (readonly [string, readonly ProcessRow[]])[]): string {
  return groups
    .map(([value, rows]) => `${value === '' ? 'unset' : value} at ${rows.map(nameOf).join(', ')}`)
    .join('; ');
}

/** Whether the machines have room, and what they hold is kept elsewhere, too. */
export const machineChecks: readonly ToldCheck[] = [
  {
    name: 'disk_nearly_full',
    row: 'disks',
    severity: 'critical',
    holdSeconds: 300,
    look: async ({ fullDisks }) =>
      (await fullDisks()).map(({ host, free_percent }) => ({
        text: `the disk of ${host} with the data folder has ${free_percent} % of its room left`,
        id: host,
      })),
    many: (count) => `${count} disks nearly full`,
    well: 'every disk with a data folder has room',
    remedy:
      'Make room on the disk with its data folder, before what is written there fails: exports spill there, segments pass through it, and the built-in PostgreSQL lives on it. docs/operations.md, "When a disk is full", says what can go.',
    command: () => 'svcctl ps',
    place: () => '#/access?view=notices',
    isQuick: true,
  },
  {
    name: 'backup_overdue',
    row: 'backups',
    severity: 'warning',
    holdSeconds: 0,
    async look({ overdueBackup }) {
      const last = await overdueBackup();
      if (last === null) return [];
      if (last === undefined) return [{ text: 'there is no backup that svcctl has made' }];
      const days = Math.floor((Date.now() - Date.parse(last.taken_at)) / 86_400_000);
      return [{ text: `the last good backup is ${days} days old (${last.place})` }];
    },
    well: 'no backup is overdue',
    remedy:
      'Make one, and look why what should make one each day did not: docs/operations.md, "Backups". Where something else backs up, say so once: SVC_BACKUP_MAX_AGE_HOURS=0.',
    command: () => 'svcctl backup --out PLACE',
    place: () => '#/access?view=notices',
  },
  {
    name: 'audit_unsealed',
    row: 'troubles',
    severity: 'critical',
    holdSeconds: 0,
    async look({ sealFault }) {
      const fault = sealFault();
      return fault === null ? [] : [{ text: `the audit log is not what was sealed: ${fault}` }];
    },
    well: 'the audit log is what was sealed',
    remedy:
      'Somebody changed it past svcctl, or the database was set back. See which entries it is, and compare with what was copied; once that is known: svcctl audit reseal.',
    command: () => 'svcctl audit verify',
    place: () => '#/access?view=audit',
  },
  {
    name: 'audit_uncopied',
    row: 'troubles',
    severity: 'warning',
    // A store may be away for a while, and entries wait in the log.
    holdSeconds: 600,
    async look({ failingCopy }) {
      const copy = await failingCopy();
      if (copy === undefined) return [];
      const { location, failing_since: since, error } = copy;
      return [{ text: `the audit log cannot be copied to ${location}: ${error}`, since }];
    },
    well: 'the audit log is copied, where it is to be',
    remedy:
      'Nothing is lost while the entries stay in the log. Give access to where it goes, or mend SVC_AUDIT_COPY_URL or SVC_AUDIT_SHIP_URL.',
    command: () => 'svcctl config',
    place: () => '#/access?view=audit',
  },
];
