import { AppError } from '../kernel/errors.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import {
  type Applied,
  findGap,
  passThrough,
  replaced,
  withBaseline,
} from '../platform/postgres/baseline.ts';
import { commit, usualLimits } from '../platform/postgres/client.ts';
import { copyIntoTable } from '../platform/postgres/copy.ts';
import type { Database } from '../platform/postgres/database.ts';
import {
  findOpenRestore,
  migrate,
  readJournal,
  readMigrations,
} from '../platform/postgres/migrate.ts';
import { type DataPlace, markRestore } from '../platform/restore-mark.ts';
import { busy, withSessionLock } from '../platform/work/session-lock.ts';
import { partitionName } from '../records/index.ts';
import type { Manifest, PackedFile, SavedKey, Step } from './manifest.ts';
import * as queries from './queries.ts';
import { type ReadTools, readRows } from './read-files.ts';
import * as restoring from './restore-queries.ts';
import { recordsTable } from './save-tables.ts';
import { unusable } from './tenant-keys.ts';

type RestoreTools = ReadTools & {
  readonly db: Database;
  /** The data folder that is marked as amid the restore until the database is whole. */
  readonly into: DataPlace;
  /** The keys that are gone: what is theirs is left out. */
  readonly gone: readonly SavedKey[];
  readonly onStep: (step: Step) => void;
};

/** So many files are loaded side by side. */
const connections = 3;

/**
 * Restores the database of a backup into an empty one. `beforeEnd` does what belongs to it before a service may start:
 * it brings the objects. The schema is first that of the backup, and at the end that of this release. After a kill the
 * same call goes on behind the files that are loaded. Throws `backup_newer`, `backup_older`, `backup_damaged`, and
 * `database_not_empty` before anything is changed.
 */
export async function restoreDatabase(
  manifest: Manifest,
  tools: RestoreTools,
  beforeEnd: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { db, signal } = tools;
  await refuseForeignSchema(manifest);
  const lost =
    'The connection that keeps other restores away was lost. Run the same command again.';
  const work = (own: AbortSignal) => restoreAlone(manifest, { ...tools, signal: own }, beforeEnd);
  const outcome = await withSessionLock(db, { name: 'restores' }, { signal, lost, work });
  if (outcome !== busy) return;
  throw new AppError('backup_busy', {
    detail: 'Another restore into this database is under way. Wait until it has ended.',
  });
}

async function restoreAlone(
  manifest: Manifest,
  tools: RestoreTools,
  beforeEnd: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { db, into, place } = tools;
  const isBegun = await checkTarget(manifest, db);
  const { id, taken_at: takenAt, records, size_bytes: sizeBytes } = manifest;
  const mark = await markRestore(into, { id, place: place.location });
  try {
    await fill(manifest, { ...tools, isBegun, beforeEnd });
  } catch (error) {
    // Where nothing has begun, the folder is as it was.
    const open = await findOpenRestore(db).catch(() => id);
    await (open === undefined ? mark.remove() : mark.breakOff()).catch(() => {});
    throw error;
  }
  // The database says itself that it is half restored, until this commit: whatever is lost of it, the mark is not left.
  await mark.remove();
  await db.transaction((connection) =>
    restoring.endRestore(connection, { id, takenAt, records: records.count, sizeBytes }),
  );
}

async function fill(
  manifest: Manifest,
  {
    isBegun,
    beforeEnd,
    ...tools
  }: RestoreTools & { isBegun: boolean; beforeEnd: (signal: AbortSignal) => Promise<void> },
): Promise<void> {
  const { db, signal, place } = tools;
  const { id, taken_at: takenAt } = manifest;
  const goneIds = tools.gone.map((key) => key.id).sort();
  const only = new Set(namesOf(manifest.migrations));
  await migrate(db, signal, { only, isRestoring: true });
  const tables = await queries.describeTables(
    db,
    manifest.tables.map(({ name }) => name),
  );
  refuseOtherColumns(manifest, tables);
  if (!isBegun) {
    const names = tables.map(({ name }) => name);
    await db.transaction(async (connection) => {
      await refuseFilled(connection, names);
      await restoring.beginRestore(connection, names, { id, place: place.location, takenAt });
      await restoring.noteLeftOut(connection, goneIds);
    });
  } else await refuseOtherKeys(db, goneIds);
  await loadTables(manifest, tables, tools);
  if (goneIds.length > 0) await restoring.sumStoredAnew(db);
  for (const sequence of manifest.sequences) await queries.setSequence(db, sequence);
  await db.withConnection(async (connection) => {
    // Months of records were looked at when they were whole.
    const rest = tables.map(({ name }) => name).filter((name) => name !== recordsTable);
    await restoring.analyze(connection, rest);
    await connection.query(usualLimits);
  });
  await beforeEnd(signal);
  await migrate(db, signal, { isRestoring: true });
}

function namesOf(migrations: readonly Applied[]): string[] {
  return withBaseline(migrations.map(({ name }) => name));
}

/** Throws `backup_newer` for a migration unknown here, `backup_older` before the baseline, by a build not the last. */
async function refuseForeignSchema({ migrations, release }: Manifest): Promise<void> {
  const gap = findGap(migrations);
  if (gap !== undefined) {
    throw new AppError('backup_older', {
      detail: `The backup, made by svcctl ${release}, has migrations from before the single baseline, but not all: ${gap} is missing or had another text. Nothing was changed. Restore it with ${passThrough}, then start this release on that database.`,
    });
  }
  const own = new Map((await readMigrations()).map(({ name, checksum }) => [name, checksum]));
  const foreign = migrations.find(
    ({ name, checksum }) => !replaced.has(name) && own.get(name) !== checksum,
  );
  if (foreign === undefined) return;
  throw new AppError('backup_newer', {
    detail: `The backup has the migration ${foreign.name}, which this release does not know in this form. Restore it with svcctl ${release} or newer.`,
  });
}

/**
 * Returns whether a restore of this backup has begun here. Throws `database_not_empty` unless the database has no tables
 * of svcctl, or only empty ones of the same schema, which may lack some: those of a restore that was killed early.
 */
async function checkTarget({ id, migrations, tables }: Manifest, db: Database): Promise<boolean> {
  const open = await findOpenRestore(db);
  if (open?.backup_id === id) return true;
  if (open !== undefined) {
    throw notEmpty(
      `holds a part of the backup ${open.backup_id} of ${open.place}. Go on with it: svcctl restore … --id ${open.backup_id}, and with --skip-damaged where objects of it are damaged. For another backup it takes an empty database.`,
    );
  }
  const applied = await readJournal(db);
  if (applied.length === 0) return false;
  const wanted = namesOf(migrations);
  if (findGap(applied) !== undefined || namesOf(applied).some((name, at) => name !== wanted[at])) {
    throw notEmpty('has the tables of another release, or of a service that was started here.');
  }
  const names = tables.map(({ name }) => name);
  await refuseFilled(db, await restoring.listPresent(db, names));
  return false;
}

/** Of a tenant all is restored or nothing, also where a restore goes on after a kill. */
async function refuseOtherKeys(db: Database, goneIds: readonly string[]): Promise<void> {
  const noted = await restoring.listLeftOut(db);
  if (noted.join() === goneIds.join()) return;
  throw unusable(
    'Since this restore began, keys of tenants were removed, or put back. Restore into another, empty database.',
  );
}

/** What the migrations put into new tables. */
const seeded: readonly string[] = ['audit_chain', 'lanes', 'retention_policies', 'store_fence'];

async function refuseFilled(
  db: Parameters<typeof restoring.listFilled>[0],
  tables: readonly string[],
): Promise<void> {
  const filled = await restoring.listFilled(
    db,
    tables.filter((table) => !seeded.includes(table)),
  );
  if (filled.length > 0) throw notEmpty(`has rows in ${filled.slice(0, 5).join(', ')}.`);
}

function notEmpty(what: string): AppError {
  return new AppError('database_not_empty', {
    detail: `The database ${what} A backup is restored into an empty database only: give another DATABASE_URL, or without one another SVC_DATA_DIR. Nothing was changed.`,
  });
}

function refuseOtherColumns(manifest: Manifest, tables: readonly queries.LiveTable[]): void {
  for (const saved of manifest.tables) {
    const table = tables.find(({ name }) => name === saved.name);
    if (table !== undefined && saved.columns.every((column) => table.columns.includes(column)))
      continue;
    throw new AppError('backup_damaged', {
      detail: `The backup has columns of ${saved.name} that its migrations do not make. Nothing was loaded.`,
    });
  }
}

type Load = {
  readonly table: queries.LiveTable;
  readonly columns: readonly string[];
  readonly file: PackedFile;
  readonly month?: Month | undefined;
};

/** A month of records, while it is loaded. */
type Month = { readonly name: string; readonly files: number; filesLeft: number };

async function loadTables(
  manifest: Manifest,
  tables: readonly queries.LiveTable[],
  tools: RestoreTools,
): Promise<void> {
  const { db } = tools;
  const parts = manifest.tables.flatMap((table) => table.parts);
  const months = parts.flatMap(({ month }) => month?.month ?? []);
  await db.withConnection((connection) => restoring.makeMonths(connection, months));
  const loaded = new Set(await restoring.listRestoredFiles(db));
  const total = parts.reduce((sum, { rows, month }) => sum + (month === undefined ? 0 : rows), 0);
  let done = 0;
  const loadsOf = (table: queries.LiveTable): Load[] => {
    const saved = manifest.tables.find(({ name }) => name === table.name);
    if (saved === undefined) return [];
    return saved.parts.flatMap(({ files, month: of }) => {
      const { length } = files;
      const month = of && { name: of.month, files: length, filesLeft: length };
      return files.map((file) => ({ table, columns: saved.columns, file, month }));
    });
  };
  const run = async (one: Load, signal: AbortSignal) => {
    const { file, month } = one;
    if (!loaded.has(file.key)) await load(one, { ...tools, signal });
    if (month === undefined) return;
    month.filesLeft -= 1;
    if (month.filesLeft === 0) await finishMonth(month, db);
    done += file.rows;
    tools.onStep({ name: 'records', done, total, bytes: done });
  };
  const isReferredTo = ({ name }: queries.LiveTable) =>
    tables.some(({ refers_to }) => refers_to.includes(name));
  const ordered = inOrder(
    tables.filter((table) => table.refers_to.length > 0 || isReferredTo(table)),
  );
  for (const table of ordered) for (const one of loadsOf(table)) await run(one, tools.signal);
  const rest = tables.filter((table) => !ordered.includes(table)).flatMap(loadsOf);
  await sideBySide(rest, { atOnce: connections, signal: tools.signal }, run);
}

/** Puts tables behind those that they refer to. A table may refer to itself: all its rows are in one file. */
function inOrder(tables: readonly queries.LiveTable[]): queries.LiveTable[] {
  const ordered: queries.LiveTable[] = [];
  const left = new Set(tables);
  while (left.size > 0) {
    const isNext = ({ name, refers_to }: queries.LiveTable) =>
      refers_to.every((other) => other === name || ![...left].some((each) => each.name === other));
    const next = [...left].find(isNext);
    if (next === undefined) throw new Error('tables refer to each other in a circle');
    ordered.push(next);
    left.delete(next);
  }
  return ordered;
}

/** Loads a file in a transaction that also notes it, so that it is loaded once. */
async function load({ table, columns, file, month }: Load, tools: RestoreTools): Promise<void> {
  const { db, signal } = tools;
  const into = month === undefined ? table.name : partitionName(month.name);
  // Rows of a table that this transaction has emptied are frozen at once: nobody need look at them again to do so.
  const isFrozen = month?.files === 1;
  await db.withConnection(async (connection) => {
    await connection.client.query('begin');
    await restoring.allowLongLoads(connection);
    if (table.has_triggers) await restoring.switchTriggers(connection, into, 'disable');
    if (isFrozen) await restoring.emptyTable(connection, into);
    let leftOut = 0;
    const onLeftOut = (more: number) => {
      leftOut += more;
    };
    const rows = readRows(file, { ...tools, onLeftOut });
    const target = { table: into, columns, isFrozen };
    const count = await copyIntoTable(connection, target, rows, signal);
    if (count + leftOut !== file.rows)
      throw new Error(`${count} of ${file.rows} rows of ${file.key} were stored`);
    if (table.has_triggers) await restoring.switchTriggers(connection, into, 'enable');
    await restoring.noteRestoredFile(connection, file.key);
    await commit(connection.client);
  });
}

async function finishMonth({ name }: Month, db: Database): Promise<void> {
  await db.transaction(async (connection) => {
    await restoring.allowLongLoads(connection);
    await restoring.finishMonth(connection, name);
  });
}
