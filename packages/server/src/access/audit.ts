import { isAccessToken } from '../kernel/ids.ts';
import type { Audit } from '../platform/audit.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { insertAuditEntry } from './queries.ts';

const maxUserAgentLength = 200;

/** Writes entries to the audit log, without any secret that `before` or `after` may hold. */
export function createAudit(): Audit {
  return async (db, { actor, request, action, target, tenant, before, after }) =>
    insertAuditEntry(db, {
      tokenId: actor.tokenId,
      tokenName: actor.name,
      action,
      target,
      tenant,
      requestId: request.id,
      address: request.ip,
      userAgent: request.headers['user-agent']?.slice(0, maxUserAgentLength) ?? null,
      before: toJson(before),
      after: toJson(after),
    });
}

/** Writes what was done without the API, on the machine that holds the database settings. */
export async function auditLocally(
  db: Queryable,
  name: string,
  act: { action: string; target: string; after: unknown },
): Promise<void> {
  await insertAuditEntry(db, {
    tokenId: null,
    tokenName: name,
    action: act.action,
    target: act.target,
    tenant: null,
    requestId: null,
    address: null,
    userAgent: null,
    before: null,
    after: toJson(act.after),
  });
}

function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value, withoutSecrets);
}

const secretNames = new Set(['token', 'secret', 'previous_secrets', 'hash']);

/** A secret must not reach the log even if whoever writes an entry forgets to leave it out. */
function withoutSecrets(name: string, value: unknown): unknown {
  if (secretNames.has(name)) return undefined;
  const isSecret =
    typeof value === 'string' && (isAccessToken(value) || value.startsWith('whsec_'));
  return isSecret ? '(secret)' : value;
}
