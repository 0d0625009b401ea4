import type { FastifyRequest } from 'fastify';
import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { type GroupRow, readGroupTable } from '../kernel/group-table.ts';
import { randomText } from '../kernel/ids.ts';
import type { SignInPurpose } from '../kernel/values.ts';
import type { Audit } from '../platform/audit.ts';
import type { Identity, IdentityServer } from '../platform/identity-server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { cookieText, type PublicUrl, readCookie } from './cookies.ts';
import * as queries from './people-queries.ts';
import { findTokenById } from './queries.ts';
import { actorOf } from './tokens.ts';

/** How people sign in by the identity server of their company. */
export type PeopleOptions = {
  readonly server: IdentityServer;
  readonly name: string;
  readonly groups: string;
  readonly groupsClaim: string;
  readonly sessionSeconds: number;
};

const cookie = 'svc_sign_in';
/** So long a sign-in at the identity server may take. */
const cookieSeconds = 600;

/** A request that begins, changes or ends a session, and what puts it on record. */
export type Visit = {
  readonly request: FastifyRequest;
  readonly audit: Audit;
  readonly publicUrl: PublicUrl;
};

/** Returns where the browser goes to sign in, and the cookie by which its answer is known again. */
export async function beginSignIn(
  { server }: PeopleOptions,
  purpose: SignInPurpose,
  { request, publicUrl }: Pick<Visit, 'request' | 'publicUrl'>,
): Promise<{ url: string; cookie: string }> {
  const secret = randomText(43);
  return {
    url: await server.begin(secret, purpose),
    cookie: cookieText(cookie, secret, { maxAge: cookieSeconds, request, publicUrl }),
  };
}

/** The cookie that ends what `beginSignIn` began: an answer is taken once. */
export function forgetSignIn({ request, publicUrl }: Pick<Visit, 'request' | 'publicUrl'>): string {
  return cookieText(cookie, '', { maxAge: 0, request, publicUrl });
}

/** Lets in whom the identity server vouches for. Throws 401 `identity_refused`; 403 `person_refused` also shuts out. */
export async function letIn(
  db: Database,
  options: PeopleOptions,
  { answer, ...visit }: Visit & { answer: string },
): Promise<{ actor: Actor; idToken: string }> {
  const identity = await finish(options, answer, visit);
  if (identity.purpose === 'confirm') throw otherAnswer();
  const { issuer, subject, claims, idToken } = identity;
  const groups = groupsOf(claims, options.groupsClaim) ?? [];
  const rights = rightsOf(groups, readGroupTable(options.groups));
  const name = nameOf(claims, subject);
  if (rights === null) {
    await shutOut(db, { issuer, subject, name }, visit);
    throw new AppError('person_refused', {
      detail: `${name} is in no group that may sign in here: the claim ${options.groupsClaim} ${
        groups.length === 0 ? 'is empty' : `has ${groups.slice(0, 5).join(', ')}`
      }. Ask whoever keeps SVC_OIDC_GROUPS.`,
    });
  }
  const id = await queries.letPersonIn(db, { issuer, subject, name, ...rights });
  const row = await findTokenById(db, id);
  if (row === undefined) throw new Error('the person just let in is not there');
  return { actor: actorOf(row), idToken };
}

/** Checks that a session's person signed in anew within 5 minutes. Throws 401 `identity_refused`, also for another. */
export async function provePresence(
  db: Database,
  options: PeopleOptions,
  { answer, actor, ...visit }: Visit & { answer: string; actor: Actor },
): Promise<void> {
  const identity = await finish(options, answer, visit);
  if (identity.purpose !== 'confirm') throw otherAnswer();
  const own = await queries.findVouched(db, actor.tokenId);
  if (own?.issuer === identity.issuer && own.subject === identity.subject) return;
  throw new AppError('identity_refused', {
    detail: `It is not ${actor.name}, whose session this is, who signed in at the identity server.`,
  });
}

async function finish({ server, groupsClaim }: PeopleOptions, answer: string, visit: Visit) {
  const secret = readCookie(cookie, visit.request, visit.publicUrl);
  if (secret === undefined) {
    throw new AppError('identity_refused', {
      detail: 'This browser began no sign-in in the last ten minutes. Sign in again.',
    });
  }
  const isEnough = (claims: Identity['claims']) =>
    groupsOf(claims, groupsClaim) !== undefined &&
    [claims.name, claims.email].every((claim) => claim !== undefined);
  return server.finish(secret, answer, isEnough);
}

function otherAnswer(): AppError {
  return new AppError('identity_refused', {
    detail: 'The identity server was asked for something else. Sign in again.',
  });
}

async function shutOut(
  db: Database,
  { name, ...vouched }: queries.Vouched & { name: string },
  { request, audit }: Visit,
): Promise<void> {
  await db.transaction(async (connection) => {
    const id = await queries.shutPersonOut(connection, vouched);
    const nobody = { tokenId: id ?? '', name, scopes: [], tenants: null, expiresAt: null };
    await audit(connection, {
      actor: nobody,
      request,
      action: 'session.refuse',
      target: null,
      after: { code: 'person_refused' },
    });
  });
}

/** The groups in a claim: a list of texts, or one text. Undefined when there is no such claim. */
function groupsOf(claims: Identity['claims'], name: string): readonly string[] | undefined {
  // An address is only somebody's when the server has seen that it is.
  if (name === 'email' && claims.email_verified !== true) return undefined;
  const own = Object.hasOwn(claims, name) ? claims[name] : memberOf(claims, name);
  const list = typeof own === 'string' ? [own] : own;
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : undefined;
}

function memberOf(claims: Identity['claims'], path: string): unknown {
  let value: unknown = claims;
  for (const name of path.split('.')) {
    value = Object.getOwnPropertyDescriptor(Object(value), name)?.value;
  }
  return value;
}

/**
 * What somebody may do who is in these groups: what the first row says that they are in, in the tenants of all such rows
 * with the same scopes. Rows with other scopes add nothing: the scopes of one in the tenants of another would be more than
 * either says. Null when they are in none.
 */
export function rightsOf(
  groups: readonly string[],
  table: readonly GroupRow[],
): Pick<GroupRow, 'scopes' | 'tenants'> | null {
  const own = table.filter(({ group }) => groups.includes(group));
  const [first] = own;
  if (first === undefined) return null;
  const scopes = [...first.scopes].sort().join(' ');
  const alike = own.filter((row) => [...row.scopes].sort().join(' ') === scopes);
  const isEverywhere = alike.some(({ tenants }) => tenants === null);
  const tenants = new Set(alike.flatMap((row) => row.tenants ?? []));
  return { scopes: first.scopes, tenants: isEverywhere ? null : [...tenants] };
}

/** A person's name, as "Ada King <ada@acme.example>": nothing in it passes for another address, or is invisible. */
function nameOf(claims: Identity['claims'], subject: string): string {
  const text = (claim: string) => {
    const value = claims[claim];
    const seen = typeof value === 'string' ? value.replace(/[\p{C}\p{Z}<>]+/gu, ' ').trim() : '';
    return seen === '' ? undefined : seen.slice(0, 100);
  };
  const address = claims.email_verified === false ? undefined : text('email');
  const login = address ?? text('preferred_username');
  const name = text('name');
  if (name === undefined) return login ?? subject.slice(0, 100);
  return login === undefined || login === name ? name : `${name} <${login}>`;
}
