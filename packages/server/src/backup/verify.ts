import { signedDigest } from '../kernel/digest.ts';
import { AppError } from '../kernel/errors.ts';
import { parseInstant } from '../kernel/instant.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import type { DuckDb } from '../platform/duckdb.ts';
import { checkObject } from '../platform/objects/check-object.ts';
import { isObjectFault } from '../platform/objects/objects.ts';
import {
  isSameTriple,
  readSegmentDays,
  SegmentFault,
  sumTriples,
  type Triple,
} from '../records/segments.ts';
import {
  filesOf,
  type Manifest,
  objectKey,
  type SavedKey,
  type SavedObject,
  type SavedTable,
  type Step,
} from './manifest.ts';
import { linesOf, openLocally, pagesOfObjects, type ReadTools, readRows } from './read-files.ts';
import { recordsTable } from './save-tables.ts';
import { openUnsealed, plainOf, refOf } from './seal-objects.ts';

/** Something that is not what was written. */
export type BackupProblem = {
  readonly kind: 'file' | 'object' | 'records' | 'counters' | 'key';
  readonly key: string;
  readonly message: string;
};

export type BackupReport = {
  readonly problem_count: number;
  /** The first of them. */
  readonly problems: readonly BackupProblem[];
  readonly files: number;
  readonly objects: number;
  /** The tenants whose keys are not here: of what is theirs only the SHA-256 of its files was compared. */
  readonly tenants_unread: readonly string[];
  /** What was found, computed from the rows and the segments. */
  readonly hot: Triple;
  readonly cold: Triple;
};

export type VerifyTools = ReadTools & {
  readonly duckdb: DuckDb;
  /** The keys that no erasure has removed, and that are not where they should lie. */
  readonly lostKeys?: readonly SavedKey[] | undefined;
  readonly onStep: (step: Step) => void;
};

const listed = 1000;
/** So many files or objects are read side by side. */
const atOnce = 2;

/**
 * Reads everything that a backup needs, and compares it with the manifest: files and objects by their SHA-256, and
 * records, hot and cold, by count, bytes and digest, computed from their content. These together must be what the
 * counters said, as far as the keys of tenants are here. It changes nothing. Throws `backup_place_unavailable` when something cannot be read at all.
 */
export async function verify(manifest: Manifest, tools: VerifyTools): Promise<BackupReport> {
  const problems: BackupProblem[] = [];
  let [count, objects, bytes] = [0, 0, 0];
  const add = (problem: BackupProblem) => {
    count += 1;
    if (problems.length < listed) problems.push(problem);
  };
  const advance = (sizeBytes: number) => {
    bytes += sizeBytes;
    tools.onStep({ name: 'verification', done: bytes, total: manifest.size_bytes, bytes });
  };
  const hot: Triple[] = [];
  const cold: Triple[] = [];
  const limits = { atOnce, signal: tools.signal };
  await sideBySide(manifest.tables, limits, async (table) => {
    hot.push(...(await verifyTable(table, tools, { add, advance })));
  });
  try {
    for await (const page of pagesOfObjects(manifest, tools)) {
      objects += page.length;
      await sideBySide(page, limits, async (object) => {
        const found = await verifyObject(object, { ...tools, manifest }, add);
        if (found !== null) cold.push(found);
        advance(object.size_bytes);
      });
    }
  } catch (error) {
    add(toProblem('file', manifest.objects.lists[0]?.key ?? '', error));
  }
  for (const { key } of manifest.objects.missing ?? []) {
    add({ kind: 'object', key, message: `${key} was missing or damaged when the backup was made` });
  }
  for (const { name, tenant } of tools.lostKeys ?? []) {
    const message = `the key of ${tenant} is missing or damaged, so nobody can read what is theirs: put it back from a copy`;
    add({ kind: 'key', key: name, message });
  }
  const [hotSum, coldSum] = [sumTriples(hot), sumTriples(cold)];
  const unread = manifest.keys?.tenants.filter(({ id }) => tools.find?.(id) == null) ?? [];
  if (
    count === 0 &&
    unread.length === 0 &&
    !isSameTriple(sumTriples([hotSum, coldSum]), manifest.records)
  ) {
    const message = `the counters say ${describe(manifest.records)}; there are ${describe(sumTriples([hotSum, coldSum]))}`;
    add({ kind: 'counters', key: 'leaf_tenants', message });
  }
  const files = filesOf(manifest).length;
  const tenants_unread = unread.map(({ tenant }) => tenant);
  const found = { files, objects, tenants_unread, hot: hotSum, cold: coldSum };
  return { problem_count: count, problems, ...found };
}

type Report = { add: (problem: BackupProblem) => void; advance: (sizeBytes: number) => void };

/** Reads the files of a table. Returns what its months of records hold. */
async function verifyTable(
  table: SavedTable,
  tools: VerifyTools,
  { add, advance }: Report,
): Promise<Triple[]> {
  const found: Triple[] = [];
  for (const { files, month } of table.parts) {
    const sums = table.name === recordsTable ? createRecordSums(table.columns) : null;
    let [isWhole, leftOut] = [true, 0];
    const onLeftOut = (rows: number) => {
      leftOut += rows;
    };
    const reading = { ...tools, onLeftOut };
    for (const file of files) {
      try {
        if (sums === null)
          for await (const _ of readRows(file, reading)) tools.signal.throwIfAborted();
        else for await (const line of linesOf(readRows(file, reading))) sums.add(line);
      } catch (error) {
        isWhole = false;
        add(toProblem('file', file.key, error));
      }
      advance(file.size_bytes);
    }
    if (sums === null || !isWhole) continue;
    const triple = sums.triple();
    found.push(triple);
    if (month !== undefined && leftOut === 0 && !isSameTriple(triple, month)) {
      const message = `${month.month} had ${describe(month)}; its files hold ${describe(triple)}`;
      add({ kind: 'records', key: files[0]?.key ?? '', message });
    }
  }
  return found;
}

/** Reads an object of the place. Returns what its records are; null when it is no segment, is damaged or not to be read. */
async function verifyObject(
  object: SavedObject,
  { manifest, ...tools }: VerifyTools & { manifest: Manifest },
  add: (problem: BackupProblem) => void,
): Promise<Triple | null> {
  const key = objectKey(manifest.database, object);
  const { place, duckdb, signal, find } = tools;
  const opened: { path: string; release: () => Promise<void> }[] = [];
  try {
    const local = await openLocally(place, key, tools);
    opened.push(local);
    await checkObject(local.path, refOf({ ...object, key }), { signal });
    const plain = plainOf(object, find);
    if (plain === null || plain.records === null) return null;
    if (object.sealed !== undefined && find !== undefined) {
      opened.push(await openUnsealed({ key, plain }, { ...tools, find }));
    }
    const path = opened.at(-1)?.path ?? '';
    const days = await readSegmentDays(duckdb, { tenant: object.tenant, path, signal });
    const found = sumTriples(days);
    if (isSameTriple(found, plain.records)) return found;
    const message = `the catalogue says ${describe(plain.records)}; it holds ${describe(found)}`;
    add({ kind: 'records', key, message });
  } catch (error) {
    add(toProblem('object', key, error));
  } finally {
    for (const { release } of opened) await release();
  }
  return null;
}

/** What is wrong with the backup is told; what keeps it from being read is thrown. */
function toProblem(kind: BackupProblem['kind'], key: string, error: unknown): BackupProblem {
  const isDamage =
    isObjectFault(error) ||
    error instanceof SegmentFault ||
    (error instanceof AppError && error.code === 'backup_damaged');
  if (!isDamage) throw error;
  return { kind, key, message: error instanceof AppError ? error.detail : error.message };
}

function describe({ count, bytes, digest }: Triple): string {
  return `${count} records of ${bytes} bytes with the digest ${BigInt(digest).toString(16).padStart(16, '0')}`;
}

/** Sums up records as COPY wrote them, a line each; digests come from their content, not from their column. */
function createRecordSums(columns: readonly string[]): {
  add(line: string): void;
  triple(): Triple;
} {
  const at = (name: string) => {
    const index = columns.indexOf(name);
    if (index < 0) throw new Error(`records have no column ${name}`);
    return index;
  };
  const [tenant, store, occurredAt, eventId] = [
    at('tenant'),
    at('store'),
    at('occurred_at'),
    at('event_id'),
  ];
  const [kind, source, model, confidence] = [
    at('kind'),
    at('source'),
    at('model'),
    at('confidence'),
  ];
  const [size, enrichment] = [at('bytes'), at('enrichment')];
  const scratch = Buffer.alloc(8);
  let [count, bytes, digest] = [0, 0, 0n];
  return {
    add(line) {
      const cells = line.split('\t');
      const text = (index: number) => unescaped(cells[index] ?? '');
      const orNull = (index: number) => (cells[index] === '\\N' ? null : text(index));
      count += 1;
      bytes += Number(cells[size]);
      digest += signedDigest(
        {
          tenant: text(tenant),
          store: text(store),
          occurredAtMicros: microsOf(cells[occurredAt] ?? ''),
          eventId: text(eventId),
          kind: orNull(kind),
          source: orNull(source),
          model: orNull(model),
          confidence: orNull(confidence),
          enrichment: text(enrichment),
        },
        scratch,
      );
    },
    triple: () => ({ count, bytes, digest: BigInt.asUintN(64, digest).toString() }),
  };
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Takes back what COPY does to a value: a backslash and a letter stand for a control character. */
function unescaped(cell: string): string {
  if (!cell.includes('\\')) return cell;
  return cell.replace(/\\(.)/gs, (_, sign: string) => escapes[sign] ?? sign);
}

/** Reads `2001-03-01 12:00:00.25+00`, which PostgreSQL writes in UTC. */
function microsOf(cell: string): number {
  const micros = parseInstant(cell.replace(' ', 'T').replace(/\+00$/, 'Z'));
  if (micros === null) throw new Error(`${JSON.stringify(cell)} is no time`);
  return micros;
}
