import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { ImportFormat } from '../../records/values.ts';
import type { Context } from '../context.ts';
import { printable } from '../table.ts';
import { unreadable } from '../upload.ts';

export type Importer = Awaited<ReturnType<typeof import('../../app.ts')['openImporter']>>;
type ImportFile = Awaited<ReturnType<Importer['open']>>;

export type FoundFile = {
  /** Its path as people write it. */
  readonly name: string;
  readonly path: string;
  readonly format: ImportFormat;
  readonly source: ImportFile;
};

const mostTold = 5;

/**
 * Finds the files that are meant, in the order in which they are named, those of a pattern by their names, and reads of
 * each what its columns are. Says what differs between them. Throws `file_unreadable` and `columns_unmapped`.
 */
export async function openFiles(
  context: Context,
  importer: Importer,
  { patterns, format }: { patterns: readonly string[]; format: ImportFormat | undefined },
): Promise<FoundFile[]> {
  const { cwd } = context.io;
  const paths = new Set<string>();
  for (const pattern of patterns) {
    const whole = isRemote(pattern) ? pattern : resolve(cwd, pattern);
    for (const path of await expand(importer, whole)) paths.add(path);
  }
  const files: FoundFile[] = [];
  for (const path of paths) {
    const found = format ?? formatOf(path);
    if (found === null) {
      throw unreadable(
        path,
        new Error(
          'its name ends as none of .parquet, .csv, .tsv, .ndjson and .jsonl; see --format',
        ),
      );
    }
    context.io.signal.throwIfAborted();
    const source = await importer.open(path, found);
    files.push({ path, name: nameOf(cwd, path), format: found, source });
  }
  assertMapped(files);
  noteDifferences(context, files);
  noteNumbers(context, files);
  return files;
}

function isRemote(path: string): boolean {
  return /^s3:\/\//i.test(path);
}

/** A file as people write it: from the folder in which they are, and of S3 without what says how to reach it. */
function nameOf(cwd: string, path: string): string {
  if (isRemote(path)) return path.replace(/\?.*/, '');
  const near = relative(cwd, path);
  return near.startsWith('..') ? path : near;
}

/** The files that a path, a folder or a pattern means. */
async function expand(importer: Importer, path: string): Promise<string[]> {
  const found = isRemote(path) ? null : await stat(path).catch(() => null);
  if (found?.isDirectory() || isRemote(path)) {
    const within = await importer.find(
      isRemote(path) ? path : `${path.replace(/[*?[]/g, '[$&]')}/**`,
    );
    const known = within.filter((each) => formatOf(each) !== null);
    if (known.length > 0) return known;
    if (within.length > 0 && isRemote(path)) return within;
    throw unreadable(path, new Error('there are no files that could be imported'));
  }
  if (found !== null || !/[*?[]/.test(path)) return [path];
  const matches = await importer.find(path);
  if (matches.length === 0) throw unreadable(path, new Error('no file has such a name'));
  return matches;
}

function formatOf(path: string): ImportFormat | null {
  const shown = isRemote(path) ? path.replace(/\?.*/, '') : path;
  const name = shown.toLowerCase().replace(/\.(gz|zst)$/, '');
  if (name.endsWith('.parquet')) return 'parquet';
  if (name.endsWith('.csv') || name.endsWith('.tsv')) return 'csv';
  return /\.(ndjson|jsonl)$/.test(name) ? 'ndjson' : null;
}

function assertMapped(files: readonly FoundFile[]): void {
  const faulty = files.filter(({ source }) => source.faults.length > 0);
  if (faulty.length === 0) return;
  const told = faulty
    .slice(0, mostTold)
    .map(({ name, source }) => `${name}: ${source.faults.join('; ')}.`);
  const more = faulty.length - mostTold;
  if (more > 0) told.push(`And so with ${numberOf(more, 'more file')}.`);
  throw new AppError('columns_unmapped', {
    detail: `${numberOf(faulty.length, 'file')} of ${formatCount(files.length)} cannot be mapped, so nothing was sent. ${told.join('\n')}`,
  });
}

/** Says which columns of CSV become text although they look like numbers, which no comparison with a number finds. */
function noteNumbers(context: Context, files: readonly FoundFile[]): void {
  const names = [...new Set(files.flatMap(({ source }) => source.numberLike ?? []))];
  if (names.length === 0) return;
  const text = `note: what looks like a number becomes text in ${names.join(', ')}, and no comparison with a number finds it; see --number`;
  context.note(printable(text));
}

/** Says of which keys `--number` has made nothing in the lines of NDJSON: what is in them is known once they are read. */
export function noteUnused(
  context: Context,
  { numbered }: Importer,
  { files, numbers }: { files: readonly FoundFile[]; numbers: readonly string[] },
): void {
  const unused = numbers.filter((name) => !numbered.has(name));
  if (unused.length === 0 || files.every(({ format }) => format !== 'ndjson')) return;
  const text = `note: --number ${unused.join(', ')}: no line of NDJSON that was read has such a key beside its fields`;
  context.note(printable(text));
}

/** Says which files have other columns than the first of their format. Each is imported as it is. */
function noteDifferences(context: Context, files: readonly FoundFile[]): void {
  const differing = files.flatMap((file) => {
    const first = files.find(({ format }) => format === file.format);
    if (first === undefined || first === file) return [];
    const differences = differencesOf(first, file);
    return differences === '' ? [] : [`${file.name} differs from ${first.name}: ${differences}`];
  });
  for (const text of differing.slice(0, mostTold)) context.note(`note: ${printable(text)}`);
  const more = differing.length - mostTold;
  if (more > 0) context.note(`note: so do ${formatCount(more)} more files`);
}

function differencesOf(first: FoundFile, file: FoundFile): string {
  const before = new Map(first.source.columns?.map(({ name, type }) => [name, type]));
  const now = new Map(file.source.columns?.map(({ name, type }) => [name, type]));
  const changed = [...now].flatMap(([name, type]) => {
    const was = before.get(name);
    if (was === undefined) return [`it has ${name}`];
    return was === type ? [] : [`${name} is ${type}, not ${was}`];
  });
  const gone = [...before.keys()]
    .filter((name) => !now.has(name))
    .map((name) => `it lacks ${name}`);
  const all = [...changed, ...gone];
  return all.length <= mostTold ? all.join(', ') : `${all.slice(0, mostTold).join(', ')}, …`;
}
