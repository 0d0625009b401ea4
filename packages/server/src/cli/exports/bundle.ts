import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { splitNames } from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import type { Version } from '../dataset-versions.ts';
import { isAtWork } from '../follow-job.ts';
import { shellQuote } from '../format.ts';
import { bundleNames, noteName, openBundle, sumsName } from './bundle-folder.ts';
import { checkNames } from './download.ts';
import { getFile } from './get-file.ts';
import { type ExportJob, followExport } from './jobs.ts';

type BundleRequest = {
  readonly version: Version;
  readonly dir: string;
  readonly mayReplace: boolean;
};

/**
 * Has the service bundle a version, and unpacks the tar into a folder that `datasets.load_dataset` takes. What an earlier
 * run has left is gone on with, also its job. Throws `file_unreadable` when the folder has a bundle already,
 * `version_changed` when a split is not what was frozen.
 */
export async function getBundle(
  context: Context,
  client: Client,
  { version, dir, mayReplace }: BundleRequest,
): Promise<void> {
  const root = resolve(context.io.cwd, dir);
  const { own, others } = namesOf(version);
  const isOwn = [noteName, ...own.manifests].some((name) => existsSync(join(root, name)));
  const taken = isOwn ? [sumsName, ...others] : [sumsName, ...others, ...own.all];
  await checkNames(
    context,
    taken.map((name) => join(dir, name)),
    mayReplace,
  );
  const { tenant, id } = version;
  const body = { tenant, version: id };
  const job =
    (await findBundle(client, version)) ?? (await client.json('POST /exports/bundle', { body }));
  const done = await followExport(context, client, job);
  if (done.error_code === 'version_changed') {
    throw new AppError('version_changed', { detail: done.error ?? `${version.name} has changed` });
  }
  const request = { out: dir, mayReplace: true, isJson: false, open: openBundle };
  await getFile(context, client, { job: done, request, manifest: null });
  context.hint(
    `check it: cd ${shellQuote(dir)} && sha256sum -c ${sumsName} · read it: datasets.load_dataset(${JSON.stringify(dir)})`,
  );
}

/** The latest job that bundles the version or has done so: its file is of use as long as there is one. */
async function findBundle(client: Client, { tenant, id }: Version): Promise<ExportJob | undefined> {
  const { data } = await client.json('GET /exports', { query: { tenant, limit: 100 } });
  return data.find(
    (job) => job.format === 'bundle' && job.version === id && (isAtWork(job) || job.has_file),
  );
}

/** The names of files in the bundle of a version, and those that another may have beside them. */
function namesOf({ shares }: Version) {
  const isSplit = (name: (typeof splitNames)[number]) =>
    shares === null ? name === 'train' : shares[name] > 0;
  const own = splitNames.filter(isSplit).map(bundleNames);
  const manifests = own.map(({ manifest }) => manifest);
  return {
    own: {
      manifests,
      all: [...own.map(({ data }) => data), ...manifests, 'README.md', 'statistics.json'],
    },
    others: splitNames
      .filter((name) => !isSplit(name))
      .map(bundleNames)
      .flatMap(({ data, manifest }) => [data, manifest]),
  };
}
