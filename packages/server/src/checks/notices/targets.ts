import type { Static } from 'typebox';
import type { Actor } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import type { Audit, AuditEntry } from '../../platform/audit.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { newTargetSchema, targetChangeSchema } from './contract.ts';
import * as queries from './queries.ts';
import { type SendOptions, sendTo } from './send.ts';

/** What the routes need of the process that they run in. */
export type TargetOptions = Pick<SendOptions, 'channel' | 'open'> & {
  /** Throws 400 for a URL that may not be sent to. */
  readonly assertAllowed: (url: string) => Promise<void>;
  /** Whether this process can send e-mail. */
  readonly hasEmail: boolean;
  readonly newSecret: () => string;
  readonly seal: (secret: string, targetId: string) => Buffer;
  readonly audit: Audit;
};

/** Who makes a change and by which request, for the audit log. */
type Caller = Pick<AuditEntry, 'actor' | 'request'>;
type TargetCall = Caller & { readonly params: { readonly id: string } };

/** Throws 403 `scope_missing` for a token that is limited to tenants: notices tell of all of them. */
export function requireAllTenants(actor: Actor): void {
  if (actor.tenants === null) return;
  throw new AppError('scope_missing', {
    detail: 'A token limited to tenants cannot see or change notices, which tell of all tenants.',
  });
}

export async function listTargets(db: Queryable, actor: Actor) {
  requireAllTenants(actor);
  const targets = await queries.listTargets(db);
  return { data: targets.map((target) => ({ ...target, url: target.url && maskUrl(target.url) })) };
}

/** The answer is the only one with the secret. Throws 400 `request_invalid`, `target_invalid`, `target_blocked`. */
export async function createTarget(
  db: Database,
  options: TargetOptions,
  call: Caller & { readonly body: Static<typeof newTargetSchema> },
) {
  const { actor, body } = call;
  requireAllTenants(actor);
  const { kind, kinds = null, min_severity } = body;
  const address = addressOf(body);
  if (kind === 'webhook') await options.assertAllowed(address);
  else if (!options.hasEmail) {
    throw invalidInput('/kind', 'e-mail needs the settings SVC_SMTP_URL and SVC_SMTP_FROM');
  }
  const id = newId('ntt');
  const secret = kind === 'webhook' ? options.newSecret() : null;
  const made = await db.transaction(async (connection) => {
    await queries.insertTarget(connection, {
      ...{ id, kind, address, kinds, secret: secret === null ? null : options.seal(secret, id) },
      // Who names kinds wants all of them.
      min_severity: min_severity ?? (kinds === null ? 'warning' : 'info'),
      created_by: actor.name,
    });
    const after = found(await queries.findTarget(connection, id));
    await options.audit(connection, entryOf(call, 'create', id, { after }));
    return after;
  });
  return { ...made, secret };
}

/** The URL of a webhook, or the address of an e-mail. Throws 400 `request_invalid` for one too many or too few. */
function addressOf({ kind, url, to }: Static<typeof newTargetSchema>): string {
  const [own, other] = kind === 'webhook' ? (['url', 'to'] as const) : (['to', 'url'] as const);
  const given = { url, to };
  if (given[other] !== undefined) throw invalidInput(`/${other}`, `goes without the kind ${kind}`);
  const address = given[own];
  if (address === undefined) throw invalidInput(`/${own}`, 'is missing', 'field_required');
  return address;
}

/** Throws 404 `notify_target_not_found`. */
export async function changeTarget(
  db: Database,
  options: Pick<TargetOptions, 'audit'>,
  call: TargetCall & { readonly body: Static<typeof targetChangeSchema> },
) {
  requireAllTenants(call.actor);
  const { body: change } = call;
  const { id } = call.params;
  return db.transaction(async (connection) => {
    const before = found(await queries.lockTarget(connection, id));
    await queries.updateTarget(connection, {
      id,
      kinds: change.kinds === undefined ? before.kinds : change.kinds,
      min_severity: change.min_severity ?? before.min_severity,
      enabled: change.enabled ?? before.enabled,
    });
    const after = found(await queries.findTarget(connection, id));
    await options.audit(connection, entryOf(call, 'change', id, { before, after }));
    return after;
  });
}

/** Throws 404 `notify_target_not_found`. */
export async function deleteTarget(
  db: Database,
  options: Pick<TargetOptions, 'audit'>,
  call: TargetCall,
): Promise<void> {
  requireAllTenants(call.actor);
  const { id } = call.params;
  await db.transaction(async (connection) => {
    const before = found(await queries.lockTarget(connection, id));
    await queries.deleteTarget(connection, id);
    await options.audit(connection, entryOf(call, 'delete', id, { before }));
  });
}

/** Sends a test now, once, and tells how it went. Throws 404 `notify_target_not_found`. */
export async function testTarget(db: Database, options: TargetOptions, call: TargetCall) {
  requireAllTenants(call.actor);
  const { id } = call.params;
  const target = found(await queries.findAddress(db, id));
  await options.audit(db, entryOf(call, 'test', id, {}));
  const createdAt = new Date().toISOString();
  const items = [testItem(call.actor.name, createdAt)];
  const test = { id: newId('nts'), items, more: 0, createdAt };
  const { error, status, durationMillis } = await sendTo(options, { id, ...target }, test);
  await queries.insertTest(db, { id: test.id, targetId: id, items, error, status });
  return { delivered: error === null, error, status, duration_ms: durationMillis };
}

function testItem(by: string, since: string): queries.Item {
  return {
    ...{ id: newId('ntc'), telling: 'test', kind: 'notices_undelivered', severity: 'info' },
    ...{ subject: '', tenant: null, since, place: '#/' },
    title: `This is a test, asked for by ${by}`,
    advice: 'Nothing is to be done. Notices come here.',
  } as const;
}

function entryOf({ actor, request }: Caller, verb: string, target: string, states: object) {
  return { actor, request, action: `notify_target.${verb}`, target, tenant: null, ...states };
}

function found<T>(row: T | undefined): T {
  if (row !== undefined) return row;
  throw new AppError('notify_target_not_found', {
    detail:
      'There is no such target of notices, or it was removed. GET /notify/targets lists them.',
  });
}
