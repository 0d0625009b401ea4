import { AppError, invalidInput } from './errors.ts';
import { includesScope, type Scope } from './values.ts';

/**
 * Who calls. `tenants` lists the only tenants that the caller may see or change; null means all of them. Whoever is limited
 * to stores has their names there, as `TX/DFW`: no tenant is called so, and whoever does not know of stores, as an older
 * release, lets such a caller reach nothing. `expiresAt` is RFC 3339, or null when the token does not expire.
 */
export type Actor = {
  readonly tokenId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly tenants: readonly string[] | null;
  readonly expiresAt: string | null;
  /** Present when the call comes from a console session; absent when it carries the token itself. */
  readonly session?: ConsoleSession;
  /** Present when a person made the token who signed in with the company's identity. */
  readonly isOfPerson?: true;
  /** Present when the call carries a secret that was rotated out, and is taken for a while. */
  readonly isRotatedOut?: true;
  /** Present where the statement that stores what is asked for checks the token once more. */
  readonly check?: TokenCheck;
};

/**
 * Which version of its row a token was read as, for this call or shortly before it. `isMade` once a statement that stored
 * what was asked for has found it unchanged, or it was looked up for this call.
 */
export type TokenCheck = { readonly id: string; readonly version: string; isMade: boolean };

/** The service itself, where it does what else an operator asks for. It reaches all tenants, and no route. */
export const serviceActor: Actor & { readonly name: TokenlessActor } = {
  ...({ tokenId: '', name: 'svcctl', scopes: [], tenants: null, expiresAt: null } as const),
};

/** Who acts without a token, as the audit log names them. */
const tokenlessActors = ['svcctl', 'this machine', 'first start', 'retention', 'nobody'] as const;
export type TokenlessActor = (typeof tokenlessActors)[number];

/** Returns whether a name reads like that of one who acts without a token. */
export function isActorName(name: string): boolean {
  const read = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const words = read.trim().toLowerCase().split(/\s+/).join(' ');
  return tokenlessActors.some((actor) => actor === words);
}

/** Returns whether it is a person, who signed in with the company's identity, and not a token. */
export function isPerson({ tokenId }: Pick<Actor, 'tokenId'>): boolean {
  return tokenId.startsWith('usr_');
}

/** Returns whether a person asks, and no program: in a console session, or by a token that a person made. */
export function isAskedByPerson({ session, isOfPerson }: Actor): boolean {
  return session !== undefined || isOfPerson === true;
}

/**
 * A console session. Until `confirmedUntil` (RFC 3339) it may do what is destructive; when it is null, it must first
 * confirm: with its access token, or by signing in anew.
 */
type ConsoleSession = { readonly confirmedUntil: string | null };

/**
 * Returns the name under which is counted what a caller uses. All tokens that are limited to the same tenants are one
 * caller: who may make tokens for a tenant gains nothing by making many.
 */
export function callerOf({ tokenId, tenants }: Pick<Actor, 'tokenId' | 'tenants'>): string {
  return tenants === null ? tokenId : `tenants ${[...tenantsIn(tenants)].sort().join('/')}`;
}

/** The tenants among these names, and those of the stores among them. */
export function tenantsIn(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.replace(/\/.*/s, '')))];
}

/** Whether some of these are names of stores, as a token limited to stores has them. */
export function isOfStores(names: readonly string[] | null): names is readonly string[] {
  return names?.some((name) => name.includes('/')) ?? false;
}

/** What a caller reaches, as it is told: the tenants, and the stores in them, where it is limited to some; null: all. */
export function reachOf(names: readonly string[] | null) {
  const stores = isOfStores(names) ? [...names] : null;
  return { tenants: names && tenantsIn(names), stores };
}

/**
 * The caller of a route that asks about one store. One who is limited to stores reaches there the tenant of a store of
 * theirs, because the answer is of that store alone, and of any other nothing, as if its tenant did not exist. Throws 403
 * `whole_tenant_required` when no store is named.
 */
export function withinStore(actor: Actor, asked: { tenant?: unknown; store?: unknown }): Actor {
  const { tenants: names } = actor;
  if (!isOfStores(names)) return actor;
  const { tenant, store } = asked;
  if (typeof tenant !== 'string' || typeof store !== 'string') {
    throw wholeTenantRequired(names, 'Name the tenant and one of these stores.');
  }
  return names.includes(`${tenant}/${store}`) ? { ...actor, tenants: [tenant] } : actor;
}

/** Throws 403 `whole_tenant_required` to a caller who is limited to stores. */
export function requireWholeTenants({ tenants: names }: Pick<Actor, 'tenants'>): void {
  if (!isOfStores(names)) return;
  throw wholeTenantRequired(names, 'Ask an admin for a token that is not limited to stores.');
}

function wholeTenantRequired(stores: readonly string[], next: string): AppError {
  return new AppError('whole_tenant_required', {
    detail: `This call is about whole tenants, and this token reaches only ${stores.slice(0, 5).join(', ')}${stores.length > 5 ? ' and other stores' : ''}. ${next}`,
  });
}

/** Returns whether the actor may do what this scope allows, also by a scope that includes it. */
export function hasScope(actor: Actor, scope: Scope): boolean {
  return includesScope(actor.scopes, scope);
}

/** Throws 403 `scope_missing` when the actor lacks the scope. */
export function requireScope(actor: Actor, scope: Scope): void {
  if (hasScope(actor, scope)) return;
  const scopes = actor.scopes.join(', ');
  throw new AppError('scope_missing', {
    detail: isPerson(actor)
      ? `${actor.name} lacks the scope ${scope}, and has ${scopes}. Groups of the identity server give scopes (SVC_OIDC_GROUPS).`
      : `This token lacks the scope ${scope}. It is "${actor.name}" with ${scopes}. Ask an admin for a token with ${scope}.`,
  });
}

/** Throws 403 `scope_missing`, with this detail, to a token that is limited to tenants. */
export function requireAllTenants({ tenants }: Pick<Actor, 'tenants'>, detail: string): void {
  if (tenants !== null) throw new AppError('scope_missing', { detail });
}

/**
 * Guards destructive calls: throws 403 `step_up_required` to a console session that has not confirmed lately. A token
 * that is sent with the call itself needs no confirmation.
 */
export function requireConfirmation({ session, tokenId }: Actor): void {
  if (session === undefined || session.confirmedUntil !== null) return;
  const how = isPerson({ tokenId }) ? 'by signing in anew' : 'with your access token';
  throw new AppError('step_up_required', { detail: `Confirm ${how}: POST /session/confirm.` });
}

/**
 * Throws 403 `secret_rotated_out` to a secret that is taken only until the overlap of its rotation ends: nothing may come of
 * it that outlives that end, such as a session or another secret.
 */
export function requireCurrentSecret({ isRotatedOut }: Pick<Actor, 'isRotatedOut'>): void {
  if (isRotatedOut !== true) return;
  throw new AppError('secret_rotated_out', {
    detail: 'This secret was rotated out, and ends soon. Use the one that was made in its place.',
  });
}

/**
 * Returns whether the actor may see and change this tenant. Where it is false, a list is answered empty and a single
 * thing with 404, as if the tenant had nothing.
 */
export function mayTouchTenant(actor: Actor, tenant: string): boolean {
  return actor.tenants === null || actor.tenants.includes(tenant);
}

/** Returns whether the actor may see and store records of this store: of its whole tenant, or of it alone. */
export function mayTouchStore(actor: Actor, tenant: string, store: string): boolean {
  return mayTouchTenant(actor, tenant) || mayTouchTenant(actor, `${tenant}/${store}`);
}

/**
 * Throws 400 `request_invalid` at /tenant when something is to be made for a tenant that the actor does not reach. The
 * words are the same for every such tenant, so that they do not tell whether it exists.
 */
export function assertReach(actor: Actor, tenant: string): void {
  if (mayTouchTenant(actor, tenant)) return;
  throw invalidInput('/tenant', 'is not one that this token reaches; GET /me lists those');
}

type Reader = Pick<Actor, 'name' | 'scopes' | 'tenants'>;

/** Whether a caller may know operators by name: a tenant's people and programs, who reach only its webhooks, may not. */
function knowsOperators({ scopes, tenants }: Pick<Actor, 'scopes' | 'tenants'>): boolean {
  return (
    tenants === null ||
    !scopes.every((scope) => /^(webhooks|endpoints|deliveries|dlq):/.test(scope))
  );
}

/**
 * Returns the name of whoever did something as this caller may know it. A tenant is told who of its own people it was, and
 * of all others only that it was an operator: the name of an operator's token may say anything.
 */
export function shownName(reader: Reader, name: string): string {
  if (knowsOperators(reader)) return name;
  const isTheirs =
    [reader.name, serviceActor.name].includes(name) ||
    reader.tenants?.some((tenant) => `${name}:`.startsWith(`portal of ${tenant}:`));
  return isTheirs ? name : 'an operator';
}

/** The fields of answers that name somebody, and those in which such answers lie. No payload of a tenant is looked at. */
const naming = new Set(['disabled_by', 'created_by', 'requested_by', 'polled_by']);
const holding = new Set(['story', 'jobs', 'webhooks', 'endpoints', 'polled']);

/** Returns an answer with the names in it as this caller may know them. */
export function withShownNames<T>(reader: Reader, answer: T): T;
export function withShownNames(reader: Reader, answer: unknown): unknown {
  return knowsOperators(reader) ? answer : searched(reader, answer);
}

function searched(reader: Reader, answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((each) => searched(reader, each));
  if (answer === null || typeof answer !== 'object') return answer;
  // Anything else than a plain object, such as the reply itself, is no answer in JSON.
  if (Object.getPrototypeOf(answer) !== Object.prototype) return answer;
  const isPage = 'next_cursor' in answer;
  const shown = Object.entries(answer).map(([key, value]) => {
    if (naming.has(key) && typeof value === 'string') return [key, shownName(reader, value)];
    const isSearched = holding.has(key) || (isPage && key === 'data');
    return [key, isSearched ? searched(reader, value) : value];
  });
  return Object.fromEntries(shown);
}
