import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../../kernel/page.ts';
import type { Audit, Caller } from '../../platform/audit.ts';
import { parseCron } from '../../platform/cron.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { S3Credentials } from '../../platform/objects/s3-client.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { toSlice, withPin } from '../../records/index.ts';
import type { ExportRequest } from '../contract.ts';
import { toFileOptions } from '../jobs/create.ts';
import type { TypedSchema } from '../jobs.contract.ts';
import {
  type NewSchedule,
  type Schedule,
  type ScheduleChange,
  schedulesContract,
} from '../schedules.contract.ts';
import type { Selection } from '../select.ts';
import type { FindSchema } from '../typed/find-schema.ts';
import type { ScheduleState } from '../values.ts';
import * as queries from './queries.ts';
import { parseTarget, type TargetTools, tryTarget } from './target.ts';

/** What the routes of schedules need of the process that they run in. */
type ScheduleTools = TargetTools & {
  readonly seal: (secret: string, scheduleId: string) => Buffer;
  readonly unseal: (secret: Buffer, scheduleId: string) => string;
  readonly audit: Audit;
  readonly cursorKey: () => Buffer;
  readonly findSchema: FindSchema;
  /** Has schedules looked at now. */
  readonly poke: () => void;
};

/** A tenant may have so many. */
const mostSchedules = 100;

export function addScheduleRoutes(http: HttpServer, db: Database, tools: ScheduleTools): void {
  http.route(schedulesContract.createSchedule, async ({ body, reply, ...caller }) => {
    reply.status(201);
    return createSchedule(db, tools, caller, body);
  });
  http.route(schedulesContract.listSchedules, ({ query, actor }) =>
    listSchedules(db, tools.cursorKey(), actor, query),
  );
  http.route(schedulesContract.getSchedule, async ({ params, actor }) =>
    show(found(await queries.findSchedule(db, { id: params.id, reach: actor.tenants }))),
  );
  http.route(schedulesContract.changeSchedule, ({ params, body, ...caller }) =>
    changeSchedule(db, tools, caller, { id: params.id, change: body }),
  );
  http.route(schedulesContract.runSchedule, async ({ params, ...caller }) => {
    const shown = await withSchedule(db, { id: params.id, ...caller }, async (connection, own) => {
      await queries.setDue(connection, own, 'now');
      await tools.audit(connection, entryOf(caller, 'run', own, {}));
    });
    tools.poke();
    return shown;
  });
  http.route(schedulesContract.deleteSchedule, async ({ params, ...caller }) => {
    const { id } = params;
    await db.transaction(async (connection) => {
      const own = await lock(connection, { id, actor: caller.actor });
      await tools.audit(connection, entryOf(caller, 'delete', own, { before: told(own) }));
      await queries.deleteSchedule(connection, own);
    });
    await queries.dropSecrets(db);
  });
}

/** Throws 400 `request_invalid`, `export_target_refused`, `export_target_unusable`, 409 `schedule_name_taken`, `schedules_full`. */
async function createSchedule(
  db: Database,
  tools: ScheduleTools,
  caller: Caller,
  body: NewSchedule,
): Promise<Schedule> {
  const id = newId('sch');
  const { tenant, cron, format, to, credentials, ...rest } = body;
  const { starts = 'all', webhook = false, ...others } = rest;
  const { name = `${format}-${id.slice(-6)}`, ...selected } = others;
  const { actor } = caller;
  if (!mayTouchTenant(actor, tenant)) {
    throw invalidInput('/tenant', 'is not one that this token reaches; GET /me lists those');
  }
  // A record that no run could deliver would keep the schedule from delivering any.
  const missing = selected.template === undefined ? {} : { missing: 'skip' as const };
  const request: ExportRequest = { tenant, ...missing, ...selected };
  const slice = { ...toSlice(request, actor, '/'), tenant };
  assertOptions(body);
  toFileOptions(format, request, slice);
  const dueAt = nextOf(cron);
  const target = parseTarget(to, tools.roots);
  const own = credentialsFor(to, credentials);
  const schema = request.typed ? await findColumns(tools, slice) : null;
  await tryTarget(target, { tenant, schedule: name, ...(own && { credentials: own }) }, tools);
  const write = async (connection: Connection, deliveredBefore: string | null) => {
    if ((await queries.countSchedules(connection, tenant)) >= mostSchedules) {
      throw new AppError('schedules_full', {
        detail: `${tenant} has ${mostSchedules} schedules already. Delete one that is not needed.`,
      });
    }
    const isNew = await queries.insertSchedule(connection, {
      tenant,
      id,
      name,
      cron,
      format,
      request,
      target: to,
      due_at: dueAt,
      webhook,
      typed_schema: schema,
      access_key_id: own?.accessKeyId ?? null,
      secret: own === undefined ? null : tools.seal(own.secretAccessKey, id),
      delivered_before: deliveredBefore,
      created_by: actor.name,
      token_id: actor.tokenId,
    });
    if (!isNew) {
      throw new AppError('schedule_name_taken', {
        detail: `${tenant} has a schedule called ${name} already. Choose another name, or delete that one.`,
      });
    }
    const made = found(await queries.findSchedule(connection, { id, reach: null }));
    await tools.audit(connection, entryOf(caller, 'create', made, { after: told(made) }));
    return show(made);
  };
  if (starts === 'all') return db.transaction((connection) => write(connection, null));
  return withPin(db, tenant, { read: async (_, recordedBefore) => recordedBefore, write });
}

/** The columns of all runs. Throws 400 `request_invalid` when nothing is stored yet that would tell them. */
async function findColumns(
  { findSchema }: Pick<ScheduleTools, 'findSchema'>,
  slice: Selection['slice'],
): Promise<TypedSchema> {
  const schema = await findSchema({ slice, version: null });
  if (schema.columns.length > 0) return schema;
  throw invalidInput(
    '/typed',
    `finds no fields in the ${schema.count} records that are stored of this: all would go to _rest for good. Store some first`,
  );
}

/** Throws 400 `request_invalid` for an option that the format has not. */
function assertOptions(body: NewSchedule): void {
  const { format, compression, header, profile } = body;
  if (body.typed && format !== 'parquet') throw invalidInput('/typed', 'goes with Parquet alone');
  if (format !== 'ndjson') {
    if (body.template !== undefined) throw invalidInput('/template', 'goes with NDJSON alone');
    if (body.missing !== undefined) throw invalidInput('/missing', 'goes with a template');
  }
  if (format === 'parquet' && compression !== undefined) {
    throw invalidInput('/compression', 'goes without Parquet, which compresses its own pages');
  }
  if (format === 'csv') return;
  if (header !== undefined) throw invalidInput('/header', 'goes with CSV alone');
  if (profile !== undefined) throw invalidInput('/profile', 'goes with CSV alone');
}

/** The first time of a schedule that is to come. Throws 400 `request_invalid`. */
function nextOf(cron: string): string | null {
  try {
    const next = parseCron(cron).next(Date.now());
    return next === null ? null : new Date(next).toISOString();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalidInput('/cron', `is no schedule: ${why}`);
  }
}

/** The key of S3, always the schedule's own: with the service's it could write wherever the service can. */
function credentialsFor(to: string, given: NewSchedule['credentials']): S3Credentials | undefined {
  const isBucket = /^s3:/i.test(to);
  if (isBucket && given === undefined) {
    throw invalidInput('/credentials', 'is missing: a bucket of S3 needs them', 'field_required');
  }
  if (!isBucket && given !== undefined) throw invalidInput('/credentials', 'goes with S3 alone');
  return given && { accessKeyId: given.access_key_id, secretAccessKey: given.secret_access_key };
}

type ListRequest = { tenant?: string; limit?: number; cursor?: string };

async function listSchedules(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  { tenant, limit, cursor }: ListRequest,
): Promise<Page<Schedule>> {
  const page = { cursorKey, scope: { list: 'schedules', filters: { tenant } }, limit, cursor };
  const keyset = toKeyset(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();
  const rows = await queries.listSchedules(db, { tenant, reach: actor.tenants }, keyset);
  const { data, next_cursor } = toPage(page, rows, (row) => [row.tenant, row.name]);
  return { data: data.map(show), next_cursor };
}

/** Throws 404 `schedule_not_found`, 400 `request_invalid`, `export_target_refused`, `export_target_unusable`. */
async function changeSchedule(
  db: Database,
  tools: ScheduleTools,
  caller: Caller,
  { id, change }: { id: string; change: ScheduleChange },
): Promise<Schedule> {
  const { actor } = caller;
  const { cron } = change;
  if (cron !== undefined) nextOf(cron);
  for (;;) {
    const now = found(await queries.findSchedule(db, { id, reach: actor.tenants }));
    const place = await tryNewPlace(now, change, tools);
    let isTried = true;
    const shown = await withSchedule(db, { id, ...caller }, async (connection, before) => {
      // Somebody else led it elsewhere while the place was tried.
      isTried = isSamePlace(before, now);
      if (place !== null && !isTried) return;
      const enabled = change.enabled ?? before.enabled;
      const isSame = enabled === before.enabled && cron === undefined;
      const after = {
        ...before,
        enabled,
        ...place,
        cron: cron ?? before.cron,
        webhook: change.webhook ?? before.webhook,
        due_at: isSame ? before.due_at : enabled ? nextOf(cron ?? before.cron) : null,
      };
      if (after.target !== before.target) await queries.keepPlaceOfRun(connection, before);
      if (after.webhook !== before.webhook) {
        await queries.setUntold(connection, before, after.webhook);
      }
      await queries.updateSchedule(connection, after);
      const states = { before: told(before), after: told(after) };
      await tools.audit(connection, entryOf(caller, 'change', before, states));
    });
    if (place === null || isTried) return shown;
  }
}

type Place = Pick<queries.StoredSchedule, 'target' | 'access_key_id' | 'secret'>;

function isSamePlace(one: Place, other: Place): boolean {
  return one.target === other.target && one.access_key_id === other.access_key_id;
}

/** Tries the place or the key that a change names, and returns it as stored; null for neither. */
async function tryNewPlace(
  { id, tenant, name, ...now }: queries.StoredSchedule,
  { to = now.target, credentials }: ScheduleChange,
  tools: ScheduleTools,
): Promise<Place | null> {
  if (to === now.target && credentials === undefined) return null;
  const target = parseTarget(to, tools.roots);
  const { access_key_id: keyId, secret } = now;
  const isOfBucket = bucketOf(to) !== null && bucketOf(to) === bucketOf(now.target);
  const kept =
    isOfBucket && credentials === undefined && keyId !== null && secret !== null
      ? { accessKeyId: keyId, secretAccessKey: tools.unseal(secret, id) }
      : undefined;
  const own = kept ?? credentialsFor(to, credentials);
  await tryTarget(target, { tenant, schedule: name, ...(own && { credentials: own }) }, tools);
  return {
    target: to,
    access_key_id: own?.accessKeyId ?? null,
    secret: own === undefined ? null : tools.seal(own.secretAccessKey, id),
  };
}

/** A URL of S3 without its path: the bucket, and the server that has it; null for a folder. */
function bucketOf(to: string): string | null {
  const [, bucket, query = ''] = /^(s3:\/\/[^/?]*)[^?]*(\?.*)?$/i.exec(to) ?? [];
  return bucket === undefined ? null : bucket + query;
}

/** Does something to a schedule that is locked meanwhile, and returns it as it is afterwards. */
async function withSchedule(
  db: Database,
  { id, actor }: Caller & { id: string },
  work: (connection: Connection, own: queries.StoredSchedule) => Promise<void>,
): Promise<Schedule> {
  return db.transaction(async (connection) => {
    await work(connection, await lock(connection, { id, actor }));
    return show(found(await queries.findSchedule(connection, { id, reach: actor.tenants })));
  });
}

async function lock(
  connection: Connection,
  { id, actor }: { id: string; actor: Actor },
): Promise<queries.StoredSchedule> {
  const options = { forUpdate: true };
  return found(await queries.findSchedule(connection, { id, reach: actor.tenants }, options));
}

function found<T>(row: T | undefined): T {
  if (row !== undefined) return row;
  throw new AppError('schedule_not_found', {
    detail:
      'There is no schedule with this id, or it was deleted. GET /exports/schedules lists them.',
  });
}

function entryOf(
  { actor, request }: Caller,
  verb: string,
  { tenant, id }: { tenant: string; id: string },
  states: object,
) {
  return { actor, request, action: `schedule.${verb}`, target: id, tenant, ...states };
}

/** What the audit log tells of a schedule. */
function told(row: queries.StoredSchedule) {
  const { name, cron, format, request, target: to, access_key_id, webhook, enabled } = row;
  return { name, cron, format, request, to, access_key_id, webhook, enabled };
}

function show(row: queries.StoredSchedule): Schedule {
  const { target, secret: _, token_id: __, enabled: ___, is_running: ____, ...others } = row;
  const { typed_schema: schema, ...shown } = others;
  return { ...shown, ...(schema && { schema }), to: target, state: stateOf(row) };
}

function stateOf({ enabled, is_running, last_run }: queries.StoredSchedule): ScheduleState {
  if (is_running) return 'running';
  if (!enabled) return 'paused';
  return last_run?.state === 'failed' ? 'failing' : 'waiting';
}
