import type { FastifyRequest } from 'fastify';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { type Act, noteAct } from '../../platform/audit.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { pinSlice, withPin } from '../../records/index.ts';
import type { ExportRequest } from '../contract.ts';
import { isOwnColumn } from '../encode/rows.ts';
import { createFormat } from '../formats/create-format.ts';
import type { FileOptions } from '../formats/format.ts';
import type { ExportJob, TypedSchema } from '../jobs.contract.ts';
import { keepVersionSchema } from '../queries.ts';
import { type Selection, toSelection } from '../select.ts';
import type { FindSchema } from '../typed/find-schema.ts';
import { readTemplate } from '../typed/template.ts';
import { defaultColumns, exportFileName, type JobFormat } from '../values.ts';
import { splitsOf } from './bundle-splits.ts';
import { type JobVersion, toExportJob } from './job.ts';
import * as queries from './queries.ts';
import { findVersionContent } from './version-queries.ts';

/** Who asks for which export, in which format. */
type CreateCall = Act & {
  readonly format: JobFormat;
  readonly body: ExportRequest;
  readonly findSchema: FindSchema;
};

/** A tenant may have this many queued or running jobs, and each token this many of them, so that others find room. */
const mostOpenJobs = { ofTenant: 100, ofToken: 25 };

/**
 * Queues an export of the records that the slice has now. Throws 400 `request_invalid` (also for a tenant that the
 * caller does not reach), 404 `version_not_found`, 409 `version_changed`, 429 `exports_full`.
 */
export async function createJob(db: Database, call: CreateCall): Promise<ExportJob> {
  const { body, actor } = call;
  if (body.delivery !== undefined) {
    throw invalidInput('/delivery', 'goes without Prefer: respond-async, which makes a job');
  }
  const selection = await toSelection(db, body, actor, { place: '/', isJob: true });
  const { tenant } = selection.slice;
  if (!mayTouchTenant(actor, tenant)) {
    throw invalidInput('/tenant', 'is not one that this token reaches; GET /me lists those');
  }
  const inferred = body.typed || call.format === 'bundle' ? await call.findSchema(selection) : null;
  const queue = (connection: Connection, pinned: Pinned) =>
    queueJob(connection, call, { selection, pinned, inferred });
  const { slice: wanted, version } = selection;
  if (version !== null) {
    return db.transaction(async (connection) =>
      queue(connection, await pinVersion(connection, wanted, { ...version, where: body.where })),
    );
  }
  return withPin(db, tenant, {
    async read(snapshot, recordedBefore) {
      const { slice, triple } = await pinSlice(snapshot, wanted, recordedBefore);
      return { slice: { ...slice, tenants: null }, triple };
    },
    write: queue,
  });
}

type JobContent = {
  readonly selection: Selection;
  readonly pinned: Pinned;
  readonly inferred: TypedSchema | null;
};

/** Stores the job in the transaction of its pin, under the lock of the queue: the count of open jobs stays true. */
async function queueJob(
  connection: Connection,
  call: CreateCall,
  { selection, pinned, inferred }: JobContent,
): Promise<ExportJob> {
  const { format, body, actor } = call;
  const { slice, version } = selection;
  const { tenant } = slice;
  const options = toFileOptions(format, body, slice);
  await queries.lockQueue(connection, tenant);
  await assertRoom(connection, tenant, actor);
  const typed_schema =
    inferred === null || version === null
      ? inferred
      : await keepVersionSchema(connection, { tenant, id: version.id }, inferred);
  const job = await queries.insertJob(connection, {
    ...pinned,
    tenant,
    typed_schema,
    id: newId('exp'),
    request: body,
    options,
    file_name: fileNameOf(body, selection, options),
    version: version === null ? null : versionOf(version),
    requested_by: actor.name,
    tokenId: actor.tokenId,
  });
  if (job === undefined) throw new Error('a job vanished while it was written');
  // The parts of a version were cut when it was frozen. Any other slice is cut when the work on it begins.
  if (version !== null) {
    const splits = format === 'bundle' ? splitsOf(version) : [null];
    const parts = splits.flatMap(() => version.parts);
    await queries.insertParts(connection, job, parts);
  }
  await noteAct(connection, call, {
    action: 'export.create',
    target: job.id,
    tenant,
    after: { ...body, format, rows: job.rows_total },
  });
  return toExportJob(job);
}

function versionOf(version: NonNullable<Selection['version']>): JobVersion {
  const { id, name, dataset, shares, groupBy, where } = version;
  return {
    id,
    name,
    dataset,
    shares,
    ...(groupBy !== null && { group_by: groupBy }),
    ...(where !== null && { where }),
  };
}

type Pinned = Pick<queries.NewJob, 'slice' | 'triple'>;

/**
 * Pins the slice of a version. Its triple is null, so that the job measures it, while it is counted, for a split of it,
 * and with a further `where`.
 */
async function pinVersion(
  connection: Connection,
  slice: Selection['slice'],
  { id, name, where }: { id: string; name: string; where: string | undefined },
): Promise<Pinned> {
  // An erasure takes this lock, too: it either finds the job, or has ended before and is known here.
  await queries.lockQueue(connection, slice.tenant);
  const state = await findVersionContent(connection, { tenant: slice.tenant, id });
  const { recordedBefore } = slice;
  if (state === undefined || recordedBefore === undefined) {
    throw new AppError('version_not_found', { detail: 'The dataset version was just deleted.' });
  }
  if (state.state === 'failed') {
    throw new AppError('version_changed', {
      detail: `The records of ${name} are not what was frozen: ${state.error ?? 'their digest differs'}. Freeze a new version.`,
    });
  }
  const triple = slice.split === undefined && where === undefined ? state.triple : null;
  return { slice: { ...slice, recordedBefore, tenants: null }, triple };
}

async function assertRoom(connection: Connection, tenant: string, actor: Actor): Promise<void> {
  const { all, own } = await queries.countOpenJobs(connection, tenant, actor.tokenId);
  const isOwn = own >= mostOpenJobs.ofToken;
  if (!isOwn && all < mostOpenJobs.ofTenant) return;
  throw new AppError('exports_full', {
    detail: `${isOwn ? `${own} exports of ${tenant} that this token asked for` : `${mostOpenJobs.ofTenant} exports of ${tenant}`} are waiting or running already. Try again when one has ended, or cancel one.`,
    retryAfterSeconds: 30,
  });
}

/** The file that a request asks for, with the defaults that hold now. */
export function toFileOptions(
  format: JobFormat,
  body: ExportRequest,
  slice: Selection['slice'],
): FileOptions {
  if (body.typed) checkTyped(body.columns);
  const template = templateOf(body);
  const {
    columns = defaultColumns(format, slice.shares !== undefined),
    header = true,
    profile = 'machine',
  } = body;
  const compression = format === 'parquet' ? 'none' : (body.compression ?? 'none');
  return { format, columns, header, profile, compression, template };
}

function templateOf({ template, missing, columns }: ExportRequest): FileOptions['template'] {
  if (template === undefined) {
    if (missing !== undefined) throw invalidInput('/missing', 'goes with a template');
    return undefined;
  }
  if (columns !== undefined) throw invalidInput('/columns', 'go without a template');
  readTemplate(template);
  return { lines: template, missing: missing ?? 'refuse' };
}

function checkTyped(columns: readonly string[] = ['enrichment']): void {
  if (columns.every(isOwnColumn) && columns.includes('enrichment')) return;
  throw invalidInput(
    '/columns',
    'with typed, name columns of the records and enrichment, in whose place its fields stand',
  );
}

/** The name of the file that a request asks for. */
export function fileNameOf(
  body: ExportRequest,
  { version }: Pick<Selection, 'version'>,
  options: FileOptions,
): string {
  const parts = { ...body, versionName: version?.name };
  return exportFileName(parts, createFormat(options).extension);
}

/** Whether the client prefers a job to waiting for the file (RFC 7240). */
export function prefersAsync(request: FastifyRequest): boolean {
  return String(request.headers.prefer ?? '')
    .split(',')
    .some((preference) => /^\s*respond-async\s*(;|$)/i.test(preference));
}
