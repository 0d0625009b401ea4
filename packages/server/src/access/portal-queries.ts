import sql from 'sql-template-tag';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { PortalLink } from './portal.contract.ts';
import { isRevoked } from './queries.ts';
import type { PortalScope } from './values.ts';

/** A link counts as long as whoever made it may do what it allows. */
const counts = sql`portal_links.revoked_at is null and portal_links.expires_at > now()
  and not ${isRevoked('maker')} and coalesce(maker.expires_at > now(), true)
  and maker.scopes && array['admin', 'webhooks:manage', portal_links.scope]::text[]
  and (maker.tenants is null or portal_links.tenant = any(maker.tenants))`;

const columns = sql`portal_links.id, tenant, scope, portal_links.subject,
  case when not (${counts}) then 'ended' when opened_at is null then 'new' else 'open' end as state,
  json_build_object('id', maker.id, 'name', maker.name) as creator,
  ${instantText('portal_links.created_at')} as created_at, ${instantText('portal_links.expires_at')} as expires_at,
  ${instantText('opened_at')} as opened_at, address, user_agent`;

const reached = (reach: readonly string[] | null) =>
  sql`(${reach}::text[] is null or tenant = any(${reach}::text[]))`;

/** Whom a link lets in, and until when. */
export type PortalVisit = Pick<PortalLink, 'id' | 'tenant' | 'scope' | 'subject' | 'expires_at'>;
const visit = sql`portal_links.id, tenant, scope, portal_links.subject,
  ${instantText('portal_links.expires_at')} as expires_at`;

/** Adds a link, which ends with the token that makes it at the latest. Forgets those that ended a week ago. */
export async function insertPortalLink(
  db: Queryable,
  link: {
    id: string;
    hash: Buffer;
    tenant: string;
    scope: PortalScope;
    subject: string | null;
    makerId: string;
    seconds: number;
  },
): Promise<PortalLink> {
  await db.query(sql`delete from portal_links where expires_at < now() - interval '7 days'`);
  await db.query(sql`
    insert into portal_links (id, hash, tenant, scope, subject, token_id, expires_at)
    select ${link.id}, ${link.hash}, ${link.tenant}, ${link.scope}, ${link.subject}, id,
      least(now() + make_interval(secs => ${link.seconds}), expires_at)
    from access_tokens where id = ${link.makerId}`);
  const rows = await db.query<PortalLink>(sql`
    select ${columns} from portal_links join access_tokens maker on maker.id = token_id
    where portal_links.id = ${link.id}`);
  return onlyRow(rows);
}

export async function listPortalLinks(
  db: Queryable,
  { reach, tenant }: { reach: readonly string[] | null; tenant: string | undefined },
): Promise<PortalLink[]> {
  return db.query<PortalLink>(sql`
    select ${columns} from portal_links join access_tokens maker on maker.id = token_id
    where ${reached(reach)} and (${tenant ?? null}::text is null or tenant = ${tenant ?? null})
    order by portal_links.created_at desc, portal_links.id limit 1000`);
}

/** Ends a link and its session. Returns whose it is, and when it had ended before; undefined where there is none. */
export async function revokePortalLink(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<{ tenant: string; subject: string | null; is_first: boolean } | undefined> {
  const rows = await db.query<{ tenant: string; subject: string | null; is_first: boolean }>(sql`
    with before as (
      select id, revoked_at from portal_links where id = ${id} and ${reached(reach)} for update
    )
    update portal_links set revoked_at = coalesce(portal_links.revoked_at, now()) from before
    where portal_links.id = before.id
    returning tenant, subject, before.revoked_at is null as is_first`);
  return rows[0];
}

/** Opens a link by its code, once, for so many seconds; undefined where that does not open it, or not any more. */
export async function takePortalLink(
  db: Queryable,
  hash: Buffer,
  session: { hash: Buffer; address: string | null; userAgent: string | null },
): Promise<(PortalVisit & { seconds: number }) | undefined> {
  const rows = await db.query<PortalVisit & { seconds: number }>(sql`
    update portal_links set opened_at = now(), session_hash = ${session.hash}, address = ${session.address},
      user_agent = ${session.userAgent}
    from access_tokens maker
    where portal_links.hash = ${hash} and opened_at is null and maker.id = token_id and ${counts}
    returning ${visit}, ceil(extract(epoch from portal_links.expires_at - now()))::int as seconds`);
  return rows[0];
}

/** Whose session it is; undefined when it has ended. */
export async function findPortalVisit(
  db: Queryable,
  sessionHash: Buffer,
): Promise<PortalVisit | undefined> {
  const rows = await db.query<PortalVisit>(sql`
    select ${visit} from portal_links join access_tokens maker on maker.id = token_id
    where session_hash = ${sessionHash} and ${counts}`);
  return rows[0];
}
