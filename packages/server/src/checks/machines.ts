import type { ToldCheck } from './check.ts';

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
      'Make room on the disk with its data folder, before what is written there fails: exports spill there, segments pass through it, and the built-in PostgreSQL lives on it. docs/operations.md, "What grows, and what ends it", says what can go.',
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
];
