/**
 * How the store of cold data stands to this database. own: it is read and written. elsewhere: it has gone on
 * with another one. read_only: this process only reads it, by its settings. unclaimed: it has no marker, and
 * not what this database knows. unavailable: it cannot be listed or written. unknown: it was not looked at yet.
 */
export const storeStates = [
  'own',
  'elsewhere',
  'read_only',
  'unclaimed',
  'unavailable',
  'unknown',
] as const;
export type StoreState = (typeof storeStates)[number];
