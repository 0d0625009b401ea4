import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { formatDigest, sumDigests } from '../../kernel/digest.ts';
import { AppError } from '../../kernel/errors.ts';
import { tarEnd, tarHeader, tarPaddingBytes } from '../../kernel/tar.ts';
import { numberOf } from '../../kernel/values.ts';
import { fileLiteral } from '../../platform/duckdb.ts';
import { inSpoolFolder } from '../../platform/objects/spool.ts';
import { ThreadHash } from '../../platform/thread-hash.ts';
import type { SplitName } from '../../records/values.ts';
import type { FileFormat } from '../formats/format.ts';
import { splitsOf } from './bundle-splits.ts';
import type { WorkContext } from './context.ts';
import { type BundledSplit, datasetCard } from './dataset-card.ts';
import type { JobVersion, StoredJob } from './job.ts';
import { addFile } from './make-parts.ts';
import { describeFile } from './manifest.ts';
import type { DonePart } from './queries.ts';
import { findVersionContent, type VersionContent } from './version-queries.ts';
import { toFilePart, writeFile } from './write-file.ts';

/** What a file has beside its parts: bytes that lie after so many of these. And the hash of all. */
export type JoinedFile = {
  readonly gaps: readonly { readonly after: number; readonly bytes: Buffer }[];
  readonly sha256: Buffer;
};

type BundleCall = {
  readonly job: StoredJob;
  readonly signal: AbortSignal;
  readonly format: FileFormat;
  readonly parts: readonly DonePart[];
  /** Of all splits, as decimal text. */
  readonly digest: string;
};

/**
 * Makes the tar around the parts of a bundle: a file of each split, which is summarized on the way, and what describes
 * them; last the checksums, without which a folder is not whole. Throws 409 `version_changed` when a split is not what
 * was frozen. Whoever does it again after a kill begins with the first split: nothing of it is kept before the end.
 */
export async function joinBundle(context: WorkContext, call: BundleCall): Promise<JoinedFile> {
  const { job, signal, format, parts, digest } = call;
  const { version } = job;
  if (version === null) throw new Error('a bundle is of a version');
  const content = await findVersionContent(context.db, { tenant: job.tenant, id: version.id });
  const tar = startTar(context, call);
  const splits = splitsOf(version);
  const each = parts.length / splits.length;
  const made: BundledSplit[] = [];
  const statistics: Record<string, object> = {};
  for (const [n, asked] of splits.entries()) {
    const name = asked ?? 'train';
    const own = parts.slice(n * each, (n + 1) * each);
    const manifest = await inSpoolFolder(context.source.spoolDir, async (dir) => {
      const path = join(dir, `${name}.parquet`);
      const written = await writeFile(context, own, { job, format, path, signal });
      const sha256 = Buffer.from(written.sha256, 'hex');
      const file = { format, parts: own, sizeBytes: written.bytes, sha256, digest: sumOf(own) };
      const told = describeFile(job, file);
      assertFrozen(version, { name, content, rows: told.rows, digest: file.digest });
      await tar.addFile(dataName(name), path, { ...file, before: n * each });
      const columns = await summarize(context, path, signal);
      statistics[name] = { rows: told.rows, misfits: told.misfits, columns };
      return told;
    });
    made.push({
      name,
      manifest: {
        ...manifest,
        format: 'parquet',
        file_name: basename(dataName(name)),
        request: { ...job.request, ...(asked && { split: asked }), typed: true },
        finished_at: new Date().toISOString(),
      },
    });
  }
  for (const { name, manifest } of made) await tar.add(`manifests/${name}.json`, textOf(manifest));
  await tar.add('statistics.json', textOf(statistics));
  const card = { job, version, note: content?.note ?? null, digest: formatDigest(BigInt(digest)) };
  await tar.add('README.md', datasetCard({ ...card, splits: made, fileOf: dataName }));
  return tar.end();
}

/** The name by which Hugging Face knows what split a file is of. */
function dataName(split: SplitName): string {
  return `data/${split}-00000-of-00001.parquet`;
}

function textOf(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function sumOf(parts: readonly DonePart[]): string {
  return sumDigests(parts.map((part) => BigInt(part.digest))).toString();
}

/** What a version holds by its last count tells what each split must have. While it is counted nothing does. */
function assertFrozen(
  version: JobVersion,
  split: { name: SplitName; rows: number; digest: string; content: VersionContent | undefined },
): void {
  const { name, rows, digest, content } = split;
  if (content?.state !== 'ready') return;
  const frozen = version.shares === null ? content.triple : content.splits?.[name];
  if (!frozen || (frozen.count === rows && frozen.digest === digest)) return;
  throw new AppError('version_changed', {
    detail: `${name} of ${version.name} has ${numberOf(rows, 'row')} with the digest ${formatDigest(BigInt(digest))}, which is not what was counted: records of it are gone meanwhile. Bundle it again.`,
  });
}

/** A tar whose large files are parts of the job. Its other bytes are held in memory. */
function startTar(context: WorkContext, { job, signal, format, parts }: BundleCall) {
  const at = Date.parse(job.created_at);
  const gaps: { after: number; bytes: Buffer[] }[] = [];
  const sums: string[] = [];
  let hash = new ThreadHash();
  const put = (after: number, ...bytes: Buffer[]) => {
    const last = gaps.at(-1);
    if (last?.after === after) last.bytes.push(...bytes);
    else gaps.push({ after, bytes });
  };
  const add = async (name: string, text: string) => {
    const content = Buffer.from(text);
    const sizeBytes = content.length;
    const padding = Buffer.alloc(tarPaddingBytes(sizeBytes));
    const bytes = Buffer.concat([tarHeader({ name, sizeBytes, at }), content, padding]);
    put(parts.length, bytes);
    await hash.update(bytes);
    sums.push(`${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  };
  return {
    add,
    /** Adds a file of parts that begin behind so many others. */
    async addFile(name: string, path: string, file: SplitFile): Promise<void> {
      const { sizeBytes, sha256, before, parts: own } = file;
      const header = tarHeader({ name, sizeBytes, at });
      const padding = Buffer.alloc(tarPaddingBytes(sizeBytes));
      put(before, header, format.head);
      put(before + own.length, format.tail(own.map(toFilePart)), padding);
      await hash.update(header);
      hash = await addFile(context, { key: name, sizeBytes, sha256 }, { hash, path, signal });
      await hash.update(padding);
      sums.push(`${sha256.toString('hex')}  ${name}\n`);
    },
    async end(): Promise<JoinedFile> {
      await add('SHA256SUMS', sums.join(''));
      put(parts.length, tarEnd);
      await hash.update(tarEnd);
      const joined = gaps.map(({ after, bytes }) => ({ after, bytes: Buffer.concat(bytes) }));
      return { gaps: joined, sha256: await hash.digest() };
    },
  };
}

type SplitFile = {
  readonly sizeBytes: number;
  readonly sha256: Buffer;
  readonly before: number;
  readonly parts: readonly DonePart[];
};

/** What DuckDB tells of a column. Values are text, and cut when they are long. */
type ColumnSummary = {
  readonly column: string;
  readonly type: string;
  readonly distinct: number;
  readonly nulls: number;
  readonly [figure: string]: string | number | null;
};

/**
 * Summarizes the columns of a file of Parquet: about how many values differ, % null, bounds; of numbers mean, deviation,
 * quartiles.
 */
function summarize(
  { source }: WorkContext,
  path: string,
  signal: AbortSignal,
): Promise<ColumnSummary[]> {
  return source.cold.duckdb.run<ColumnSummary>(
    `select column_name as column, column_type as type, approx_unique::double as "distinct",
      null_percentage::double as nulls, left(min, 200) as min, left(max, 200) as max, avg as mean,
      std, q25, q50, q75
    from (summarize select * from read_parquet(${fileLiteral(path)}, hive_partitioning = false))`,
    { signal, timeoutMillis: summaryMillis },
  );
}

const summaryMillis = 3_600_000;
