import { databaseFigures } from '../platform/postgres/figures.ts';
import { findLastBackup, isBackupOverdue } from './queries.ts';

/** What backups tell in the metrics. `maxAgeHours` is after how long one is overdue. */
export const backupFigures = (maxAgeHours: number) =>
  databaseFigures({
    name: 'backups',
    gauges: {
      svcctl_backup_overdue: {
        help: 'Whether the last whole backup is older than SVC_BACKUP_MAX_AGE_HOURS, or there is none of older data.',
      },
      svcctl_backup_last_timestamp_seconds: {
        help: 'The moment that the newest whole backup shows; 0 when there is none.',
      },
      svcctl_backup_last_verified_timestamp_seconds: {
        help: 'When all of it was last read back and found right; absent when never.',
      },
      svcctl_backup_last_size_bytes: { help: 'All that it needs.' },
    },
    async read(db) {
      const last = await findLastBackup(db);
      return {
        svcctl_backup_overdue: Number(await isBackupOverdue(db, maxAgeHours)),
        svcctl_backup_last_timestamp_seconds: secondsOf(last?.taken_at) ?? 0,
        svcctl_backup_last_verified_timestamp_seconds: secondsOf(last?.verified_at),
        svcctl_backup_last_size_bytes: last?.size_bytes ?? null,
      };
    },
  });

function secondsOf(time: string | null | undefined): number | null {
  return time == null ? null : Date.parse(time) / 1000;
}
