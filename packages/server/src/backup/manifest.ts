import { createHash } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';
import type { Triple } from '../records/segments.ts';
import type { SealedKey } from './sealed-key.ts';

/**
 * Rows in one file of the place: what COPY writes, or lines of JSON, packed by Brotli; by gzip where its key says so, and
 * in frames of a tenant's rows that its key encrypts (`seal.ts`) where it ends with `.sealed`.
 */
export type PackedFile = {
  readonly key: string;
  readonly rows: number;
  readonly size_bytes: number;
  readonly sha256: string;
};

/** The rows of a table; for records, those of one month, with what proves them. */
export type TablePart = {
  readonly rows: number;
  readonly files: readonly PackedFile[];
  readonly month?: RecordMonth;
};

export type RecordMonth = Triple & {
  /** `YYYY-MM` */
  readonly month: string;
  /** When the last of them was stored; the text that PostgreSQL writes. */
  readonly newest: string;
};

export type SavedTable = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly parts: readonly TablePart[];
};

/** An object that the database refers to, as a line of the lists of objects. Only segments have records. */
export type SavedObject = {
  readonly key: string;
  readonly size_bytes: number;
  readonly sha256: string;
  readonly tenant: string;
  readonly records: Triple | null;
  /**
   * Where it is encrypted by the tenant's key: the id of that, and what the object is without it, encrypted, too. Its
   * size and SHA-256 are those of the encrypted file then.
   */
  readonly sealed?: { readonly key: string; readonly about: string };
};

/** What `sealed.about` says. */
export type PlainObject = Pick<SavedObject, 'size_bytes' | 'sha256' | 'records'>;

/** Everything that a backup consists of. It is written when all of it is in its place, and never changed. */
export type Manifest = {
  /** In the first form, all files are packed by gzip; only in the third does it have keys. */
  readonly format: 1 | 2 | typeof manifestFormat;
  readonly id: string;
  /** Which database it is of: see `findDatabaseId`. */
  readonly database: string;
  /** The moment that the backup shows, as an instant. */
  readonly taken_at: string;
  readonly release: string;
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  readonly tables: readonly SavedTable[];
  readonly sequences: readonly SavedSequence[];
  readonly objects: {
    readonly count: number;
    readonly size_bytes: number;
    readonly lists: readonly PackedFile[];
    /** Those that were missing or damaged, and are not in the backup. Absent when there are none. */
    readonly missing?: readonly SavedObject[];
  };
  /** What the counters of all tenants say. */
  readonly records: Triple;
  /** All that the backup needs: files and objects. */
  readonly size_bytes: number;
  /** How far the audit log was, `place:hash`. */
  readonly audit_head: string;
  readonly secret_key: SealedKey | null;
  /** The keys by which what belongs to tenants is encrypted. Absent where nothing is. */
  readonly keys?: SavedKeys;
};

/** The key of a tenant as a manifest names it: where it lies, and what names it in frames. */
export type SavedKey = { readonly tenant: string; readonly name: string; readonly id: string };

/** The keys of a backup: the place where they lie, as its marker names it, and those of tenants. */
export type SavedKeys = { readonly place: string; readonly tenants: readonly SavedKey[] };

export type SavedSequence = {
  readonly table: string;
  readonly column: string;
  readonly next: number;
};

const manifestFormat = 3;

export function newManifest(parts: Omit<Manifest, 'format'>): Manifest {
  return { format: parts.keys === undefined ? 2 : manifestFormat, ...parts };
}

/** Which backup is meant. */
export type BackupName = Pick<Manifest, 'id' | 'database'>;

export function manifestKey({ id, database }: BackupName): string {
  return `${folderOf('backups', database)}/${id}/manifest.json`;
}

/** The key of an object in a place. All backups of a database share the objects; one of another key is another object. */
export function objectKey(
  database: string,
  { key, sealed }: Pick<SavedObject, 'key' | 'sealed'>,
): string {
  return `${folderOf('objects', database)}/${key}${sealed === undefined ? '' : `.${sealed.key}`}`;
}

/**
 * A folder of a place. Each database has its own: databases do not see each other's locks, so what the one has just
 * brought, and no manifest names yet, would be nobody's to the other.
 */
export function folderOf(kind: 'backups' | 'objects' | 'tables', database: string): string {
  return `${kind}/${database}`;
}

/** All files with rows of a backup. */
export function filesOf({ tables, objects }: Pick<Manifest, 'tables' | 'objects'>): PackedFile[] {
  const parts = tables.flatMap((table) => table.parts);
  return [...parts.flatMap(({ files }) => files), ...objects.lists];
}

export function manifestText(manifest: Manifest): string {
  const text = JSON.stringify(manifest);
  return `{"sha256":"${digestOf(text)}","backup":${text}}\n`;
}

/** Reads what `manifestText` wrote. Throws `backup_damaged` and `backup_newer`. */
export function parseManifest(text: string, where: string): Manifest {
  const [, sha256, body] = /^\{"sha256":"([0-9a-f]{64})","backup":(.*)\}\n$/s.exec(text) ?? [];
  if (body === undefined || digestOf(body) !== sha256) {
    throw new AppError('backup_damaged', {
      detail: `${where} is not what was written. Use an older backup, or one in another place.`,
    });
  }
  const manifest = JSON.parse(body) as Omit<Manifest, 'format'> & { format: number };
  if (manifest.format <= manifestFormat) return manifest as Manifest;
  throw new AppError('backup_newer', {
    detail: `${where} has the form ${manifest.format}, which this release does not know. Use svcctl ${manifest.release} or newer.`,
  });
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** How far a backup, its verification or a restore is. */
export type Step = {
  readonly name: 'objects' | 'records' | 'verification';
  readonly done: number;
  /** 0 while it is unknown. */
  readonly total: number;
  readonly bytes: number;
};
