import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { makeFolders } from '../../platform/make-folders.ts';
import { type SplitName, splitNames } from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import type { Version } from '../dataset-versions.ts';
import { shellQuote } from '../format.ts';
import { openApp } from '../own-app.ts';
import { unreadable } from '../upload.ts';
import { type BundledSplit, datasetCard } from './dataset-card.ts';
import { checkNames } from './download.ts';
import { getFile } from './get-file.ts';
import { type ExportJob, followExport, startExport } from './jobs.ts';

/** A split with its file, whose names Hugging Face knows. Without shares there is one: all is for training. */
type Split = { readonly name: SplitName; readonly asked: SplitName | undefined };

const sumsName = 'SHA256SUMS';
const dataName = ({ name }: Pick<Split, 'name'>) => `data/${name}-00000-of-00001.parquet`;
const manifestName = ({ name }: Pick<Split, 'name'>) => `manifests/${name}.json`;

/**
 * Makes a folder of a version that `datasets.load_dataset` takes: typed Parquet of each split, its manifest, statistics, a
 * card, and last the checksums, by which a folder is known to be whole. What an earlier run has left is gone on with.
 * Throws `file_unreadable` when the folder has a bundle already, `version_changed` when a split is not what was frozen.
 */
export async function makeBundle(
  context: Context,
  client: Client,
  { version, dir, mayReplace }: { version: Version; dir: string; mayReplace: boolean },
): Promise<void> {
  const { io } = context;
  const root = resolve(io.cwd, dir);
  const splits = splitsOf(version);
  const names = splits.map(({ name }) => name);
  const others = splitNames.filter((name) => !names.includes(name));
  // Until the end it has no checksums, and is not whole; what readers find in it is of one version.
  const stale = [
    sumsName,
    ...others.flatMap((name) => [dataName({ name }), manifestName({ name })]),
  ];
  const own = [...splits.map(dataName), 'README.md', 'statistics.json'];
  const isOfOthers = !splits.some((split) => existsSync(join(root, manifestName(split))));
  const paths = (isOfOthers ? [...stale, ...own] : stale).map((name) => join(dir, name));
  await checkNames(context, paths, mayReplace);
  for (const folder of ['data', 'manifests']) {
    try {
      await makeFolders(join(root, folder));
    } catch (error) {
      const detail = `${join(dir, folder)} cannot be made: ${(error as Error).message}`;
      throw new AppError('file_unreadable', { detail, cause: error });
    }
  }
  for (const name of stale) await rm(join(root, name), { force: true });
  const waiting: { split: Split; job: ExportJob }[] = [];
  for (const split of splits) {
    if (await isKept(root, split, version)) continue;
    // All of them begin before one is waited for.
    const { tenant, id } = version;
    const asked = { tenant, version: id, split: split.asked, typed: true };
    waiting.push({ split, job: await startExport(client, 'parquet', asked) });
  }
  for (const { split, job } of waiting) {
    const done = await followExport(context, client, job);
    await getFile(context, client, {
      job: done,
      request: { out: join(dir, dataName(split)), mayReplace: true, isJson: false },
      manifest: join(dir, manifestName(split)),
    });
  }
  const bundled: BundledSplit[] = [];
  for (const split of splits) {
    const { name } = split;
    bundled.push({ name, manifest: await readManifest(join(root, manifestName(split))) });
  }
  for (const one of bundled) assertFrozen(version, one);
  await writeRest(context, root, { version, splits: bundled });
  const rows = bundled.reduce((sum, { manifest }) => sum + manifest.rows, 0);
  context.note(`${dir}: ${numberOf(rows, 'row')} in ${numberOf(bundled.length, 'split')}`);
  context.hint(
    `check it: cd ${shellQuote(dir)} && sha256sum -c ${sumsName} · read it: datasets.load_dataset(${JSON.stringify(dir)})`,
  );
}

function splitsOf({ shares }: Version): Split[] {
  if (shares === null) return [{ name: 'train', asked: undefined }];
  const names = splitNames.filter((name) => shares[name] > 0);
  return names.map((name) => ({ name, asked: name }));
}

async function readManifest(path: string): Promise<BundledSplit['manifest']> {
  return JSON.parse(await readFile(path, 'utf8')) as BundledSplit['manifest'];
}

/** Whether an earlier run has this split of the version already. Its bytes are hashed in the end, with all others. */
async function isKept(root: string, split: Split, version: Version): Promise<boolean> {
  try {
    const manifest = await readManifest(join(root, manifestName(split)));
    const { size } = await stat(join(root, dataName(split)));
    const { request, bytes } = manifest;
    const { split: asked } = request as { split?: SplitName };
    const isOwn = manifest.version?.id === version.id && asked === split.asked;
    return isOwn && size === bytes && isFrozen(version, { name: split.name, manifest });
  } catch {
    return false;
  }
}

/** What a split holds by the last count of its version; null when it is being counted. */
function countOf(
  { state, shares, splits, current, ...frozen }: Version,
  name: SplitName,
): { count: number; digest: string } | null {
  if (state !== 'ready') return null;
  if (shares !== null) return splits?.[name] ?? null;
  const { count, digest } = current ?? frozen;
  return count === null || digest === null ? null : { count, digest };
}

function isFrozen(version: Version, { name, manifest }: BundledSplit): boolean {
  const expected = countOf(version, name);
  if (expected === null) return true;
  return expected.count === manifest.rows && expected.digest === manifest.digest;
}

function assertFrozen(version: Version, split: BundledSplit): void {
  if (isFrozen(version, split)) return;
  const { rows, digest } = split.manifest;
  throw new AppError('version_changed', {
    detail: `${split.name} of ${version.name} has ${numberOf(rows, 'row')} with the digest ${digest}, which is not what was counted: records of it are gone meanwhile. Bundle it again.`,
  });
}

type Bundle = { readonly version: Version; readonly splits: readonly BundledSplit[] };

/** Writes what describes the data, and last the checksums of all. */
async function writeRest(context: Context, root: string, bundle: Bundle): Promise<void> {
  const sums: string[] = [];
  const add = async (name: string): Promise<string> => {
    const sha256 = await sha256Of(join(root, name));
    sums.push(`${sha256}  ${name}\n`);
    return sha256;
  };
  for (const { name, manifest } of bundle.splits) {
    const file = dataName({ name });
    if ((await add(file)) !== manifest.sha256) {
      throw unreadable(join(root, file), new Error('it is not what its manifest says; remove it'));
    }
    await add(manifestName({ name }));
  }
  const { app, log } = await openApp(context);
  const paths = bundle.splits.map(({ name }) => join(root, dataName({ name })));
  const summaries = await app.summarizeFiles(paths, log, context.io.signal);
  const statistics: Record<string, unknown> = {};
  for (const [n, { name, manifest }] of bundle.splits.entries()) {
    const columns = summaries[n];
    statistics[name] = { rows: manifest.rows, misfits: manifest.misfits, columns };
  }
  const texts = {
    'README.md': datasetCard({ ...bundle, fileOf: (name) => dataName({ name }) }),
    'statistics.json': `${JSON.stringify(statistics, null, 2)}\n`,
  };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(root, name), text);
    await add(name);
  }
  await writeFile(join(root, sumsName), sums.join(''));
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}
