import { chmod, link, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import {
  type Actor,
  hasScope,
  isActorName,
  isPerson,
  reachOf,
  requireCurrentSecret,
  requireScope,
} from '../kernel/actor.ts';
import { createBatcher } from '../kernel/batcher.ts';
import { AppError, invalidInput } from '../kernel/errors.ts';
import { hashSecret, isAccessToken, newAccessToken, newId } from '../kernel/ids.ts';
import { formatMicros, parseInstant } from '../kernel/instant.ts';
import { isReservedName, type Name } from '../kernel/names.ts';
import { numberOf, presets, type Scope, storeScopes } from '../kernel/values.ts';
import { clientAddress, isWithin, liesWithin, toNetwork } from '../platform/http/client-address.ts';
import {
  newNameLimits,
  storeNameLimits,
  storeNamePattern,
} from '../platform/http/schemas.contract.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { refuseHiddenNames } from '../platform/postgres/known-names.ts';
import { auditLocally } from './audit.ts';
import type { NewToken, TokenRow } from './contract.ts';
import * as queries from './queries.ts';

/**
 * Makes a token; the result is the only place where its secret ever shows. The token reaches no further than its
 * creator and expires no later. A creator of null means that it is made on the machine itself and bound by nothing.
 * Call it in a transaction of its own, because it takes a lock. Throws `request_invalid`, 403 `scope_missing`, and 401
 * when the creator has been revoked meanwhile.
 */
export async function createToken(
  db: Queryable,
  request: NewToken,
  maker: { creator: Actor | null; nowMillis: number; personTokenDays?: number; tokenDays?: number },
) {
  const { creator } = maker;
  if (creator !== null) requireCurrentSecret(creator);
  if ((request.preset === undefined) === (request.scopes === undefined)) {
    throw invalidInput('/preset', 'give either preset or scopes');
  }
  if (isActorName(request.name)) {
    throw invalidInput('/name', 'is what the audit log calls the service itself: choose another');
  }
  const scopes = request.scopes ?? presets[request.preset ?? 'support-readonly'];
  const names = namesOf(request, scopes);
  const place = request.stores === undefined ? '/tenants' : '/stores';
  if (creator !== null) {
    for (const scope of scopes) requireScope(creator, scope);
    const { tenants: reach } = creator;
    const isReached = (name: string) =>
      reach?.includes(name) || reach?.includes(toName(name).tenant);
    if (reach !== null && !names?.every(isReached)) {
      throw invalidInput(
        place,
        `name some of ${reach.join(', ')}, or stores in them: your own token reaches no others`,
      );
    }
  }
  await refuseHiddenNames(db, place, (names ?? []).map(toName));
  const expiresAt = expiryOf(request, maker);
  await queries.lockTokens(db);
  const own = creator === null ? null : await queries.findTokenById(db, creator.tokenId);
  if (own !== null) requireAlive(own);
  const token = newAccessToken();
  const row = await queries.insertToken(db, {
    id: newId('tok'),
    hash: hashSecret(token),
    name: request.name,
    scopes,
    tenants: names,
    addresses: addressesOf(request, own?.addresses ?? null),
    expiresAt,
    creatorId: creator?.tokenId ?? null,
  });
  return { ...row, token };
}

/**
 * What the token reaches, tenants or stores; null means all. What comes from the machine itself is checked here alone: the
 * name of a store among those of tenants would make another token. Throws 400 `request_invalid`.
 */
function namesOf(
  { tenants, stores, preset }: NewToken,
  scopes: readonly Scope[],
): readonly string[] | null {
  if (tenants?.some((name) => isReservedName(name) || name.includes('/'))) {
    throw invalidInput('/tenants', `each must be ${newNameLimits}`);
  }
  if (stores === undefined) return tenants ?? null;
  if (tenants !== undefined) throw invalidInput('/stores', 'go without tenants, which they name');
  if (!stores.every((name) => storeName.test(name))) {
    throw invalidInput('/stores', `each must be ${storeNameLimits}`);
  }
  const beyond = scopes.filter((scope) => !storeScopes.includes(scope));
  if (beyond.length === 0) return stores;
  throw invalidInput(
    preset === undefined ? '/scopes' : '/preset',
    `a token limited to stores may only have ${storeScopes.join(', ')}: ${beyond.join(', ')} would be of whole tenants`,
  );
}

const storeName = new RegExp(storeNamePattern, 'u');

/** A tenant, or a store in it. */
function toName(name: string): Name {
  const [tenant = '', store] = name.split('/');
  return { tenant, ...(store !== undefined && { store }) };
}

/** From where the token may be used: from no more networks than its maker, and from all of these unless it is said. */
function addressesOf(
  { addresses: asked }: NewToken,
  reach: readonly string[] | null,
): readonly string[] | null {
  if (asked === undefined) return reach;
  return asked.map((text, index) => {
    const network = toNetwork(text);
    if (network === undefined) {
      throw invalidInput(`/addresses/${index}`, 'is no network or address such as 10.0.0.0/8');
    }
    if (reach === null || liesWithin(network, reach)) return network;
    throw invalidInput(`/addresses/${index}`, 'is not within what your own token is limited to');
  });
}

/**
 * Gives a token another secret; the result is the only place where it ever shows. `secret` is what the call was made with,
 * null in a console session, and `session` the hash of that; `isOneOfTwo` where one may have to confirm what another asks
 * for. Throws 403 `rotation_refused` and `secret_rotated_out`, and 404 `token_not_found`. Call it in a transaction of its
 * own, because it takes a lock.
 */
export async function rotateToken(
  db: Queryable,
  id: string,
  how: {
    actor: Actor;
    secret: string | null;
    session: Buffer | null;
    overlapSeconds: number;
    isOneOfTwo: boolean;
  },
) {
  const { actor, secret, session, overlapSeconds, isOneOfTwo } = how;
  await queries.lockTokens(db);
  // It may have been rotated out while this call waited: of two rotations at once the second has an old secret.
  const [own] =
    secret === null
      ? [await queries.findTokenById(db, actor.tokenId)]
      : await queries.findTokensByHash(db, [hashSecret(secret)]);
  requireAlive(own);
  requireCurrentSecret(actorOf(own));
  const token = newAccessToken();
  const row = /^\w{1,100}$/.test(id)
    ? await queries.rotateToken(db, id, {
        hash: hashSecret(token),
        seconds: overlapSeconds,
        own: session,
        reach: actor.tenants,
      })
    : undefined;
  if (row === undefined) {
    throw new AppError('token_not_found', {
      detail:
        'There is no such token, or it is revoked or expired: svcctl tokens ls lists those that are not revoked.',
    });
  }
  if (!(await queries.canRotate(db, { byId: actor.tokenId, id, isOneOfTwo }))) {
    const why = isOneOfTwo
      ? 'and one may have to confirm what the other asks for (SVC_FOUR_EYES). Ask its maker, or revoke it and make'
      : 'which is limited itself. Ask its maker, or an admin without limits, or make';
    throw new AppError('rotation_refused', {
      detail: `"${row.name}" was not made by "${actor.name}", ${why} another token.`,
    });
  }
  if (!row.scopes.every((scope) => hasScope(actor, scope))) {
    throw new AppError('rotation_refused', {
      detail: `"${row.name}" may do more than "${actor.name}": ${row.scopes.join(', ')}. Ask an admin without limits.`,
    });
  }
  return { ...row, token };
}

/** When the token expires: as asked for, or else as late as it may. Null means never. */
function expiryOf(
  { expires_at: asked }: NewToken,
  { creator, nowMillis, personTokenDays = 0, tokenDays = 0 }: Parameters<typeof createToken>[2],
): string | null {
  const after = (days: number) => (nowMillis + days * 86_400_000) * 1000;
  const isBound = creator !== null && isPerson(creator) && personTokenDays > 0;
  const bounds: { micros: number; why: string }[] = [];
  if (isBound) {
    const why = `and a token that a person makes lives ${personTokenDays} days at most`;
    bounds.push({ micros: after(personTokenDays), why });
  } else if (creator?.expiresAt != null) {
    const micros = parseInstant(creator.expiresAt) ?? 0;
    bounds.push({ micros, why: 'when your own token expires' });
  }
  if (tokenDays > 0) {
    const why = `and a token lives ${tokenDays} days at most (SVC_TOKEN_DAYS)`;
    bounds.push({ micros: after(tokenDays), why });
  }
  const [latest] = bounds.sort((one, other) => one.micros - other.micros);
  if (asked === undefined) return latest === undefined ? null : formatMicros(latest.micros);
  const micros = parseInstant(asked);
  if (micros === null || micros <= nowMillis * 1000) {
    throw invalidInput('/expires_at', 'is not a time to come, before 2255');
  }
  if (latest !== undefined && micros > latest.micros) {
    throw invalidInput('/expires_at', `is after ${formatMicros(latest.micros)}, ${latest.why}`);
  }
  return formatMicros(micros);
}

/**
 * Finds a token by its hash; undefined when there is none. The token is looked up in the database for every request,
 * after the request has come, so that a revoked token is refused at once in every process.
 */
type FindToken = (hash: Buffer) => Promise<queries.TokenState | undefined>;

/** Looks the tokens of requests that come at the same time up with one statement. */
export function createFindToken(db: Database): FindToken {
  type Found = { token: queries.TokenState | undefined };
  const batch = async (hashes: readonly Buffer[]): Promise<Found[]> =>
    (await queries.findTokensByHash(db, hashes)).map((token) => ({ token }));
  const lookUps = createBatcher<Buffer, Found>({
    alone: async (hash) => (await batch([hash]))[0] ?? { token: undefined },
    together: batch,
    weigh: () => 1,
    mostWeight: 1000,
  });
  return async (hash) => (await lookUps.run(hash)).token;
}

const mostKnown = 10_000;

/** Tokens that were looked up within the last so many milliseconds, by their hashes. */
export const createKnownTokens = (keepMillis: number) =>
  new LRUCache<string, queries.TokenState>({ max: mostKnown, ttl: keepMillis });

/**
 * Returns the caller behind an `Authorization` header. Throws 401 `token_*`, and 403 `address_refused`. With `mayBeKnown`
 * the actor may be one of the `known` tokens, and whoever stores something in its name checks it (`check`).
 */
export async function authenticateToken(
  db: Database,
  {
    authorization,
    request,
    vouchDays,
    known,
    mayBeKnown = false,
  }: {
    authorization: string | undefined;
    request: FastifyRequest;
    vouchDays: number;
    known?: ReturnType<typeof createKnownTokens>;
    mayBeKnown?: boolean;
  },
  findToken: FindToken = createFindToken(db),
): Promise<Actor> {
  const token = secretOf(authorization);
  if (token === undefined) {
    throw new AppError('token_missing', {
      detail: 'Send the header "Authorization: Bearer svc_…" with an access token.',
    });
  }
  if (!isAccessToken(token)) {
    throw new AppError('token_malformed', {
      detail: 'The token is mistyped or cut off: copy it again, all 50 characters.',
    });
  }
  const hash = hashSecret(token);
  const key = hash.toString('base64');
  const kept = mayBeKnown ? known?.get(key) : undefined;
  // Whoever is to be refused is looked up first.
  if (kept !== undefined && mayCome(kept, request)) return checkedActor(kept);
  known?.delete(key);
  const row = await findToken(hash);
  requireAlive(row);
  requireVouched(row, vouchDays);
  requireAddress(row, request);
  const actor = await toActor(db, row);
  if (row.version == null) return actor;
  known?.set(key, row);
  return mayBeKnown ? checkedActor(row) : actor;
}

function checkedActor(row: queries.TokenState): Actor {
  return { ...actorOf(row), check: { id: row.id, version: row.version ?? '', isMade: false } };
}

/** Throws 401 `token_unvouched` for what goes back to a person who has not come for so many days; 0 = never. */
export function requireVouched({ absent_days: days }: queries.TokenState, vouchDays: number): void {
  if (vouchDays === 0 || days === null || days < vouchDays) return;
  throw new AppError('token_unvouched', {
    detail: `The person who made this token, or the token that made it, has not signed in for ${numberOf(days, 'day')}. It counts again once they do: the company’s identity must vouch for them every ${numberOf(vouchDays, 'day')} (SVC_PERSON_VOUCH_DAYS).`,
  });
}

/** The secret in an `Authorization` header. */
export function secretOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** Throws 403 `address_refused` for other addresses than the token's; not which, in case somebody found it. */
export function requireAddress(row: queries.TokenState, request: FastifyRequest): void {
  if (mayCome(row, request)) return;
  throw new AppError('address_refused', {
    detail: `This token may not be used from your address, ${clientAddress(request)}. Ask an admin for one that may.`,
    cause: actorOf(row),
  });
}

/** Whether the token may be used from where the request comes. */
function mayCome({ addresses }: queries.TokenState, request: FastifyRequest): boolean {
  return addresses === null || isWithin(addresses)(clientAddress(request));
}

function requireAlive(row: queries.TokenState | undefined): asserts row is queries.TokenState {
  if (row === undefined) throw new AppError('token_unknown');
  if (row.is_revoked) throw new AppError('token_revoked');
  if (row.is_expired) throw new AppError('token_expired');
}

/** Returns the actor of a token that is valid. Its use is noted to the minute. Throws 401 `token_*`. */
export async function toActor(db: Database, row: queries.TokenState | undefined): Promise<Actor> {
  requireAlive(row);
  // The caller is not turned away when the use cannot be noted, as with a full disk or a locked row.
  if (row.is_use_stale) await queries.touchToken(db, row.id).catch(() => {});
  return actorOf(row);
}

/** Makes an actor of a token without checking that it is valid; `toActor` checks. */
export function actorOf(row: queries.TokenState): Actor {
  const { id, name, scopes, tenants, expires_at: expiresAt, is_rotated_out: isOld } = row;
  return {
    tokenId: id,
    name,
    scopes,
    tenants,
    expiresAt,
    ...(row.is_of_person && { isOfPerson: true }),
    ...(isOld && { isRotatedOut: true }),
  };
}

/** Who calls, as they are told. */
export function actorAnswer(actor: Actor) {
  const { tokenId: id, name, scopes, expiresAt, session } = actor;
  const kind = isPerson(actor) ? 'person' : 'token';
  const confirmed_until = session?.confirmedUntil ?? null;
  return {
    id,
    kind,
    name,
    scopes,
    ...reachOf(actor.tenants),
    expires_at: expiresAt,
    confirmed_until,
  };
}

/**
 * Revokes a token. Returns it as it was, with those that were revoked with it. Throws 404 `token_not_found`, also for a
 * token that reaches tenants which the caller does not reach, and 403 `scope_missing` for one that may do more than the
 * caller. Call it in a transaction of its own.
 */
export async function revokeToken(db: Queryable, id: string, actor: Actor): Promise<TokenRow[]> {
  const isId = /^\w{1,100}$/.test(id);
  if (isId) await queries.lockTokens(db);
  const revoked = isId ? await queries.revokeToken(db, id, actor.tenants) : [];
  for (const scope of revoked.flatMap(({ scopes }) => scopes)) requireScope(actor, scope);
  if (revoked.length > 0) return revoked;
  throw new AppError('token_not_found', {
    detail: 'There is no such token, or it is revoked: svcctl tokens ls lists those that are not.',
  });
}

/**
 * Makes an admin token on the very first start and writes it to `<data dir>/admin-token` (mode 0600). Returns the path
 * of the file, or null when there were tokens already. The file is in place before the token is committed: a crash in
 * between leaves no token that nobody knows. A file that was there, of another database, is kept beside it.
 */
export async function makeFirstAdminToken(
  db: Database,
  dataDir: string,
  nowMillis: number,
): Promise<{ path: string; kept: string | null } | null> {
  if ((await queries.countTokens(db)) > 0) return null;
  return db.transaction(async (connection) => {
    await queries.lockTokens(connection);
    if ((await queries.countTokens(connection)) > 0) return null;
    const made = await createToken(
      connection,
      { name: 'first admin', preset: 'admin' },
      { creator: null, nowMillis },
    );
    await auditLocally(connection, 'first start', {
      action: 'token.create',
      target: made.id,
      after: describeToken(made),
    });
    const path = join(dataDir, 'admin-token');
    const draft = `${path}.${process.pid}`;
    await writeFile(draft, `${made.token}\n`, { mode: 0o600, flush: true });
    await chmod(draft, 0o600);
    const before = await stat(path).catch(() => null);
    const kept = before && `${path}.${before.mtime.toISOString().replaceAll(':', '-')}`;
    // A link, so that commands on this machine find a token at any moment; a start that was killed may have made it.
    if (kept !== null) {
      await rm(kept, { force: true });
      // Where no link can be made, as on some shares, the file is away for a moment.
      await link(path, kept).catch(() => rename(path, kept));
    }
    await rename(draft, path);
    return { path, kept };
  });
}

/**
 * Returns what the audit log keeps of a token. Stores stand where tenants do, as in the database: what cuts the tenants
 * that a reader does not reach cuts those, too, in each release.
 */
export function describeToken({ name, scopes, tenants, stores, addresses, expires_at }: TokenRow) {
  const limits = { tenants: stores ?? tenants, ...(addresses !== null && { addresses }) };
  return { name, scopes, ...limits, expires_at };
}
