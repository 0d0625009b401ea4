import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { type Actor, tenantsIn } from '../kernel/actor.ts';
import { invalidInput } from '../kernel/errors.ts';
import { isAccessToken } from '../kernel/ids.ts';
import { maskUrl } from '../kernel/mask-url.ts';
import { cursorAfter, type Page, toKeyset, toPage } from '../kernel/page.ts';
import { readTimeRange } from '../kernel/time-range.ts';
import { maskLiterals } from '../kernel/where/literals.ts';
import type { Audit, AuditLocally, AuditEntry as NewEntry } from '../platform/audit.ts';
import { clientAddress } from '../platform/http/client-address.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import * as queries from './audit-queries.ts';
import type { AuditEntry, auditQuerySchema } from './contract.ts';
import { type Sealer, sealPruning } from './seal-audit.ts';

const maxUserAgentLength = 200;

/** Makes the function that writes entries to the audit log. It removes any secret that `before` or `after` may hold. */
export function createAudit(): Audit {
  return async (db, { actor, request, action, target, before, after, ...whom }) => {
    await request.settle?.(db);
    await queries.insertAuditEntry(db, {
      // Who is not known has none.
      tokenId: actor.tokenId === '' ? null : actor.tokenId,
      tokenName: actor.name,
      action,
      target,
      ...concerned(actor, whom),
      requestId: request.id,
      address: clientAddress(request),
      userAgent: userAgentOf(request),
      before: toJson(before),
      after: toJson(after),
    });
  };
}

/** An entry of what nobody has asked for by a request. */
const withoutRequest = {
  tokenId: null,
  target: null,
  tenant: null,
  tenants: null,
  requestId: null,
  address: null,
  userAgent: null,
  before: null,
  after: null,
};

/** Writes that a sign-in was refused: one refusal with its request, or several as a number in `after`. */
export async function auditRefusal(
  db: Queryable,
  { address, request, after }: { address: string | null; request?: FastifyRequest; after: unknown },
): Promise<void> {
  const from = request && {
    requestId: request.id,
    address: clientAddress(request),
    userAgent: userAgentOf(request),
  };
  await queries.insertAuditEntry(db, {
    ...withoutRequest,
    address,
    ...from,
    tokenName: 'nobody',
    action: 'session.refuse',
    after: toJson(after),
  });
}

export function userAgentOf({ headers }: FastifyRequest): string | null {
  return headers['user-agent']?.slice(0, maxUserAgentLength) ?? null;
}

/** Writes what was done without the API: on the machine that has the settings of the database, or by the service itself. */
export const auditLocally: AuditLocally = async (db, by, act) => {
  const actor = typeof by === 'string' ? { tokenId: null, name: by } : by;
  await queries.insertAuditEntry(db, {
    ...withoutRequest,
    tokenId: actor.tokenId,
    tokenName: actor.name,
    action: act.action,
    target: act.target,
    tenant: act.tenant ?? null,
    before: toJson(act.before),
    after: toJson(act.after),
  });
};

const prunedAtOnce = 10_000;

/**
 * Removes entries that are older than `days`, the oldest first, at most `limit` in one transaction. Each of these
 * transactions also writes an entry that says how many entries went, up to which time, and where the chain began before
 * and begins now. So the log itself tells what is missing from it, and what went without such an entry was removed. What
 * is yet to be sealed stays, or to be copied to the stores `copiedTo`, or to one that any other process copies to.
 */
export async function pruneAudit(
  db: Database,
  options: {
    days: number;
    copiedTo: readonly string[];
    sealer: Sealer;
    signal: AbortSignal;
    limit?: number;
  },
): Promise<void> {
  const { days, copiedTo, sealer, signal, limit = prunedAtOnce } = options;
  for (let count = limit; count === limit; ) {
    signal.throwIfAborted();
    count = await db.transaction(async (connection) => {
      const gone = await sealPruning(connection, sealer, () =>
        queries.deleteOldAuditEntries(connection, { days, copiedTo, limit }),
      );
      if (gone === null) return 0;
      const { count, until, pruned_before, pruned_to } = gone;
      if (count > 0) {
        await auditLocally(connection, 'retention', {
          action: 'audit.prune',
          target: null,
          before: { pruned_to: pruned_before },
          after: { days, count, until, pruned_to },
        });
      }
      return gone.count;
    });
  }
}

/**
 * Decides which tenants an entry concerns; their admins see it. An actor who aims at tenants beyond its reach does
 * nothing to them: such an entry concerns the actor's own tenants and must not show the actor's name and address to the
 * others.
 */
function concerned(
  actor: Actor,
  { tenant = null, tenants = null }: Pick<NewEntry, 'tenant' | 'tenants'>,
): { tenant: string | null; tenants: readonly string[] | null } {
  const own = actor.tenants && tenantsIn(actor.tenants);
  const named = tenantsIn(tenants ?? (tenant === null ? [] : [tenant]));
  const reached = named.filter((each) => own === null || own.includes(each));
  const all = reached.length > 0 ? reached : own;
  const [only] = all ?? [];
  return all?.length === 1 && only !== undefined
    ? { tenant: only, tenants: null }
    : { tenant: null, tenants: all };
}

function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value, withoutSecrets);
}

const secretNames = new Set(['token', 'secret', 'previous_secrets', 'hash']);

/**
 * Leaves secrets out, also where the code that writes an entry forgets to, as the query of a URL may hold one, and the
 * values of a `where`: an entry is kept for good, and must not remember a person who is erased.
 */
function withoutSecrets(name: string, value: unknown): unknown {
  if (secretNames.has(name)) return undefined;
  if (name === 'url' && typeof value === 'string') return maskUrl(value);
  if (name === 'where' && typeof value === 'string') return maskLiterals(value);
  const isSecret =
    typeof value === 'string' && (isAccessToken(value) || value.startsWith('whsec_'));
  return isSecret ? '(secret)' : value;
}

/**
 * Returns one page of the audit log, the newest entries first, or with `after` in the order of the chain. A reader who is
 * limited to tenants learns neither the numbers of entries nor their places, which would tell how much others do: it
 * pages through the chain by cursors. Throws 400 `request_invalid` or `cursor_invalid`.
 */
export async function listAuditLog(
  db: Queryable,
  cursorKey: Buffer,
  reader: Actor,
  request: Static<typeof auditQuerySchema>,
): Promise<Page<AuditEntry>> {
  const { actor, action, tenant, q, from, to, after, limit, cursor } = request;
  const reach = reader.tenants;
  const filter = { tokenId: actor, action, tenant, text: q, ...readTimeRange({ from, to }), reach };
  const isLimited = reach !== null;
  const numbers = sealNumbers(cursorKey);
  const shown = (row: AuditEntry) => {
    const entry = toEntry(row, reach);
    if (!isLimited) return entry;
    return { ...entry, id: `aud_${numbers.seal(entry.id)}`, place: null, hash: null };
  };
  const list = after === undefined ? 'audit' : 'audit chain';
  const page = {
    cursorKey,
    limit,
    cursor,
    scope: { list, filters: { actor, action, tenant, q, from, to } },
  };
  if (after !== undefined) {
    if (q !== undefined) throw invalidInput('?q', 'goes without after');
    if (!isLimited && cursor !== undefined) throw invalidInput('?cursor', 'goes without after');
    if (isLimited && after > 0) {
      throw invalidInput('?after', 'is 0 for a token limited to tenants, which goes on by cursor');
    }
    const [sealed] = toKeyset<[string]>(page).after ?? [];
    const place = sealed === undefined ? after : Number(numbers.open(sealed));
    const from = { after: place, limit: limit ?? 100 };
    const rows = await queries.listAuditEntriesAfter(db, filter, from);
    // What is written later comes after it, so there is always a next page.
    const last = numbers.seal(String(rows.at(-1)?.place ?? place));
    return { data: rows.map(shown), next_cursor: isLimited ? cursorAfter(page, [last]) : null };
  }
  const { after: key, limit: most } = toKeyset<[string, string]>(page);
  const begin = key && ([key[0], numbers.open(key[1])] as const);
  const until = q === undefined ? null : await queries.findSearchEnd(db, filter, begin);
  const rows = await queries.listAuditEntries(db, filter, { after: begin, until, limit: most });
  const toKey = (at: string, id: string) => [at, isLimited ? numbers.seal(id) : id];
  const { data, next_cursor } = toPage(page, rows, ({ at, id }) => toKey(at, id));
  return {
    data: data.map(shown),
    next_cursor: next_cursor ?? cursorAfter(page, until === null ? undefined : toKey(...until)),
  };
}

/** Hides numbers that count what others do. The same number is always the same text, and only we can read it. */
function sealNumbers(key: Buffer): { seal(number: string): string; open(text: string): string } {
  const own = createHmac('sha256', key).update('numbers of the audit log').digest().subarray(0, 16);
  // One block, so no chaining is needed: each number is another block.
  const cipher = 'aes-128-ecb';
  return {
    seal(number) {
      const block = Buffer.alloc(16);
      block.writeBigUInt64BE(BigInt(number), 8);
      return createCipheriv(cipher, own, null)
        .setAutoPadding(false)
        .update(block)
        .toString('base64url');
    },
    open(text) {
      // Cursors of readers who see all numbers have them as they are.
      if (/^\d{1,19}$/.test(text)) return text;
      const opening = createDecipheriv(cipher, own, null).setAutoPadding(false);
      return String(opening.update(Buffer.from(text, 'base64url')).readBigUInt64BE(8));
    },
  };
}

/** Returns an entry as this reader may see it: tenants outside the reader's reach are left out, and stores of them. */
export function toEntry(row: AuditEntry, reach: readonly string[] | null): AuditEntry {
  const within = (tenants: unknown) =>
    reach === null || !Array.isArray(tenants)
      ? tenants
      : tenants.filter((each) => tenantsIn([String(each)]).some((name) => reach.includes(name)));
  const cut = (state: unknown) =>
    typeof state === 'object' && state !== null
      ? {
          ...state,
          ...('tenants' in state && { tenants: within(state.tenants) }),
          // Older releases wrote URLs whole.
          ...('url' in state && typeof state.url === 'string' && { url: maskUrl(state.url) }),
        }
      : state;
  const { tenant } = row;
  const tenants = within(row.tenants ?? (tenant === null ? null : [tenant])) as string[] | null;
  return { ...row, tenants, before: cut(row.before), after: cut(row.after) };
}
