export { backupFigures } from './figures.ts';
export type { Manifest, Step } from './manifest.ts';
export { type RestoredObjects, restoreObjects } from './objects.ts';
export {
  type BackupChoice,
  findBackup,
  listBackups,
  makePlaceFolder,
  openPlace,
  type Place,
  readManifest,
  warnOfFuture,
} from './place.ts';
export {
  findLastBackup,
  isBackupOverdue,
  type LastBackup,
  noteVerified,
} from './queries.ts';
export { listWithout } from './read-files.ts';
export { restoreDatabase } from './restore.ts';
export { countOpenDeliveries } from './restore-queries.ts';
export { type Saved, save } from './save.ts';
export { openKey, sealKey } from './sealed-key.ts';
export { finder, readKeys, removeKeys, unusable } from './tenant-keys.ts';
export { type BackupProblem, type BackupReport, verify } from './verify.ts';
