import type { Static } from 'typebox';
import { requireAllTenants } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { Audit, Caller } from '../../platform/audit.ts';
import type { Handler } from '../../platform/http/add-route.ts';
import type { RouteContract } from '../../platform/http/contract.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import {
  type NotifyTarget,
  type newTargetSchema,
  noticesContract,
  type targetChangeSchema,
} from './contract.ts';
import { isForTenants, toTenantItem } from './for-tenant.ts';
import * as queries from './queries.ts';
import { type SendOptions, type SendResult, sendTo } from './send.ts';

const refusal =
  'A token limited to tenants cannot see or change notices, which tell of all tenants.';

export function addNoticeRoutes(
  http: HttpServer,
  db: Database,
  options: TargetOptions & { readonly cursorKey: () => Buffer },
): void {
  const route = <C extends RouteContract>(contract: C, handle: Handler<C>) =>
    http.route(contract, async (call) => {
      requireAllTenants(call.actor, refusal);
      return handle(call);
    });
  route(noticesContract.createNotifyTarget, ({ body, ...caller }) =>
    createTarget(db, options, caller, body),
  );
  route(noticesContract.listNotifyTargets, () => listTargets(db));
  route(noticesContract.changeNotifyTarget, ({ params, body: change, ...caller }) =>
    changeTarget(db, options, caller, { id: params.id, change }),
  );
  route(noticesContract.deleteNotifyTarget, ({ params, ...caller }) =>
    deleteTarget(db, options, caller, params.id),
  );
  route(noticesContract.tryNotifyTarget, ({ body, ...caller }) =>
    tryTarget(db, options, caller, body),
  );
  route(noticesContract.testNotifyTarget, ({ params, ...caller }) =>
    testTarget(db, options, caller, params.id),
  );
  route(noticesContract.listNotices, async ({ query }) => {
    const page = {
      ...query,
      cursorKey: options.cursorKey(),
      scope: { list: 'notices', filters: {} },
    };
    const rows = await queries.listNotices(db, toKeyset(page));
    return toPage(page, rows, ({ created_at, id }) => [created_at, id]);
  });
}

/** What the routes need of the process that they run in. */
type TargetOptions = Pick<SendOptions, 'channel' | 'open'> & {
  /** Throws 400 for a URL that may not be sent to. */
  readonly assertAllowed: (url: string) => Promise<void>;
  /** Whether this process can send e-mail. */
  readonly hasEmail: boolean;
  readonly newSecret: () => string;
  readonly seal: (secret: string, targetId: string) => Buffer;
  readonly audit: Audit;
};

async function listTargets(db: Queryable) {
  const targets = (await queries.listTargets(db)).map(show);
  return { data: targets.map((target) => ({ ...target, url: target.url && maskUrl(target.url) })) };
}

/** The answer is the only one with the secret. Throws 400 `request_invalid`, `target_invalid`, `target_blocked`. */
async function createTarget(
  db: Database,
  options: TargetOptions,
  caller: Caller,
  body: Static<typeof newTargetSchema>,
) {
  const { kind, tenant = null, kinds = null, min_severity } = body;
  const address = await allowedAddress(db, options, body);
  const id = newId('ntt');
  const secret = kind === 'webhook' ? options.newSecret() : null;
  const made = await db.transaction(async (connection) => {
    await queries.insertTarget(connection, {
      id,
      kind,
      address,
      tenant,
      kinds,
      secret: secret === null ? null : options.seal(secret, id),
      // Who names kinds wants all of them.
      min_severity: min_severity ?? (kinds === null ? 'warning' : 'info'),
      created_by: caller.actor.name,
    });
    const after = show(found(await queries.findTarget(connection, id)));
    await options.audit(connection, entryOf(caller, 'create', id, { tenant, after }));
    return after;
  });
  return { ...made, secret };
}

/** Where a new target is. Throws 400 `request_invalid`, `target_invalid`, `target_blocked` for one that cannot be added. */
async function allowedAddress(
  db: Database,
  options: TargetOptions,
  body: Static<typeof newTargetSchema>,
): Promise<string> {
  const { kind, tenant = null, kinds = null } = body;
  const address = addressOf(body);
  refuseOthersKinds({ tenant, kinds });
  if (tenant !== null) await refuseHiddenNames(db, '/tenant', [{ tenant }]);
  if (kind === 'webhook') await options.assertAllowed(address);
  else if (!options.hasEmail) {
    throw invalidInput('/kind', 'e-mail needs the settings SVC_SMTP_URL and SVC_SMTP_FROM');
  }
  return address;
}

/** Throws 400 `request_invalid` for kinds of which a tenant's people cannot be told. */
function refuseOthersKinds({ tenant, kinds }: Pick<NotifyTarget, 'tenant' | 'kinds'>): void {
  if (tenant === null || (kinds ?? []).every(isForTenants)) return;
  throw invalidInput('/kinds', 'a tenant is told of its endpoints alone: endpoints_…');
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
async function changeTarget(
  db: Database,
  options: Pick<TargetOptions, 'audit'>,
  caller: Caller,
  { id, change }: { id: string; change: Static<typeof targetChangeSchema> },
) {
  return db.transaction(async (connection) => {
    const locked = found(await queries.lockTarget(connection, toTargetId(id)));
    const { tenant } = locked;
    refuseOthersKinds({ tenant, kinds: change.kinds ?? null });
    await queries.updateTarget(connection, {
      id,
      kinds: change.kinds === undefined ? locked.kinds : change.kinds,
      min_severity: change.min_severity ?? locked.min_severity,
      enabled: change.enabled ?? locked.enabled,
    });
    const after = show(found(await queries.findTarget(connection, id)));
    const before = show(locked);
    await options.audit(connection, entryOf(caller, 'change', id, { tenant, before, after }));
    return after;
  });
}

/** Throws 404 `notify_target_not_found`. */
async function deleteTarget(
  db: Database,
  options: Pick<TargetOptions, 'audit'>,
  caller: Caller,
  id: string,
): Promise<void> {
  await db.transaction(async (connection) => {
    const before = show(found(await queries.lockTarget(connection, toTargetId(id))));
    await queries.deleteTarget(connection, id);
    await options.audit(
      connection,
      entryOf(caller, 'delete', id, { tenant: before.tenant, before }),
    );
  });
}

/** Sends a test now, once, and tells how it went. Throws 404 `notify_target_not_found`. */
async function testTarget(db: Database, options: TargetOptions, caller: Caller, id: string) {
  const target = found(await queries.findAddress(db, toTargetId(id)));
  const { tenant } = target;
  await options.audit(db, entryOf(caller, 'test', id, { tenant }));
  const test = testMessage(caller.actor.name, tenant);
  const sent = await sendTo(options, { id, ...target }, test);
  const { error, status } = sent;
  await queries.insertTest(db, { id: test.id, targetId: id, items: test.items, error, status });
  return outcomeOf(sent);
}

/** Sends a test once to what could be added, and tells how it went. Throws as `createTarget` does; nothing is stored. */
async function tryTarget(
  db: Database,
  options: TargetOptions,
  caller: Caller,
  body: Static<typeof newTargetSchema>,
) {
  const { kind, tenant = null } = body;
  const address = await allowedAddress(db, options, body);
  const { url = null, to = null } = body;
  const after = { kind, url: url && maskUrl(url), to };
  await options.audit(db, entryOf(caller, 'test', null, { tenant, after }));
  const secret = kind === 'webhook' ? options.newSecret() : null;
  const test = testMessage(caller.actor.name, tenant);
  return outcomeOf(await options.channel({ kind, address, secret }, test));
}

function outcomeOf({ error, status, durationMillis }: SendResult) {
  return { delivered: error === null, error, status, duration_ms: durationMillis };
}

/** A test, in the words that are for operators, or for the people of a tenant. */
function testMessage(by: string, tenant: string | null) {
  const createdAt = new Date().toISOString();
  const item = testItem(by, createdAt);
  const title = 'This is a test';
  const items = [tenant === null ? item : { ...toTenantItem(item), tenant, title }];
  return { id: newId('nts'), tenant, items, more: 0, createdAt };
}

function testItem(by: string, since: string): queries.Item {
  return {
    id: newId('ntc'),
    telling: 'test',
    kind: 'notices_undelivered',
    severity: 'info',
    subject: '',
    tenant: null,
    since,
    place: '#/',
    title: `This is a test, asked for by ${by}`,
    advice: 'Nothing is to be done. Notices come here.',
  } as const;
}

function entryOf({ actor, request }: Caller, verb: string, target: string | null, states: object) {
  return { actor, request, action: `notify_target.${verb}`, target, tenant: null, ...states };
}

function show({ address, ...target }: queries.TargetRow): NotifyTarget {
  const isWebhook = target.kind === 'webhook';
  return { ...target, url: isWebhook ? address : null, to: isWebhook ? null : address };
}

function found<T>(row: T | undefined): T {
  if (row !== undefined) return row;
  throw new AppError('notify_target_not_found', {
    detail:
      'There is no such target of notices, or it was removed. GET /notify/targets lists them.',
  });
}

/** Returns the id if it has the form of one. Throws 404 `notify_target_not_found` otherwise, as for one that is unknown. */
function toTargetId(id: string): string {
  return /^ntt_[0-9A-Za-z]+$/.test(id) ? id : found<string>(undefined);
}
