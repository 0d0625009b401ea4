import type { Static } from 'typebox';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import { numberOf } from '../../kernel/values.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { endpointChangeSchema } from '../contract.ts';
import {
  type CustomHeaders,
  changeHeaders,
  openHeaders,
  type SealedHeaders,
  sealHeaders,
} from '../custom-headers.ts';
import {
  cancelBacklogJobs,
  discardOfEndpoint,
  discardThenEnable,
  hasLiveRows,
} from '../dead-letters/queries.ts';
import {
  changeDelivery,
  endPreviousKeys,
  refuseSameHeader,
  type StoredDelivery,
} from '../delivery-settings.ts';
import type { WebhookOptions } from '../options.ts';
import { readWallSeconds } from '../queries.ts';
import { newSecret } from '../secret.ts';
import { parseFilter } from '../subscription.ts';
import { pollUrl } from '../values.ts';
import {
  type Caller,
  findWarnings,
  found,
  getEndpoint,
  refuseNamesake,
  toEndpointId,
} from './endpoints.ts';
import { refuseUnpolled } from './polled-settings.ts';
import * as queries from './queries.ts';
import { canOpen } from './reseal.ts';

type Change = Static<typeof endpointChangeSchema>;

export type EndpointCall = Caller & { readonly params: { readonly id: string } };

/** Puts on record what was done to the endpoint that is locked. */
type Note = (verb: string, states: Pick<AuditEntry, 'before' | 'after'>) => Promise<void>;

/** Does something with an endpoint that is locked, in one transaction. Throws 404 `endpoint_not_found`. */
export async function withLocked<Done>(
  db: Database,
  { audit }: Pick<WebhookOptions, 'audit'>,
  { actor, request, params }: EndpointCall,
  work: (connection: Connection, endpoint: queries.EndpointRow, note: Note) => Promise<Done>,
): Promise<Done> {
  const id = toEndpointId(params.id);
  return db.transaction(async (connection) => {
    const endpoint = found(await queries.lockEndpoint(connection, id, actor.tenants));
    const by = { actor, request, target: id, tenant: endpoint.tenant };
    return work(connection, endpoint, (verb, states) =>
      audit(connection, { ...by, action: `endpoint.${verb}`, ...states }),
    );
  });
}

/**
 * Changes the settings that are named and leaves the others. Disabling makes the endpoint's deliveries wait, also those
 * of later incidents. Enabling closes its breaker and lets them go. Returns the endpoint as it is afterwards. Throws
 * 400 `target_invalid`, `target_blocked`, 404 `endpoint_not_found`, 409 `endpoint_uid_taken`.
 */
export async function changeEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'secretBox' | 'target' | 'wakeUp' | 'audit'>,
  call: EndpointCall & { readonly body: Change },
) {
  const { actor, body: change } = call;
  if (typeof change.where === 'string') parseFilter(change.where);
  // This looks up names, which may take seconds, so it is done before a row is locked. A URL as lists
  // show it only stands for the endpoint's own.
  const { url: given } = change;
  const isOnlyMeant = given === pollUrl || given?.endsWith('?…');
  if (given !== undefined && !isOnlyMeant) await options.target.assertAllowed(given, actor);
  const { before, after } = await withLocked(
    db,
    options,
    call,
    async (connection, before, note) => {
      const { id } = before;
      // Enabling or disabling the endpoint ends a job that discards its backlog.
      const ended = change.enabled === undefined ? [] : await cancelBacklogJobs(connection, [id]);
      const { headers: _headers, delivery: _delivery, ...named } = change;
      const settings = changedSettings(before, named, actor.name);
      if (before.type === 'pull') {
        if (settings.url !== before.url)
          throw invalidInput('/url', 'is for endpoints of the type push');
        refuseUnpolled(change);
      } else if (isOnlyMeant && settings.url !== before.url)
        await options.target.assertAllowed(settings.url, actor);
      await refuseNamesake(connection, { ...settings, id, tenant: before.tenant });
      const closesBreaker = change.enabled === true;
      const isElsewhere = leadsElsewhere(before, settings);
      const sealed = found(await queries.findSealed(connection, id));
      const headers = newHeaders(options, { id, change, isElsewhere, sealed: sealed.headers });
      const sending: StoredDelivery = { ...sealed, delivery: before.delivery };
      const losesTls = isElsewhere && before.delivery?.tls !== undefined;
      const wanted =
        losesTls && change.delivery !== null ? { tls: null, ...change.delivery } : change.delivery;
      const changed =
        wanted === undefined
          ? sending
          : changeDelivery(
              options.secretBox(),
              { id, nowSeconds: await readWallSeconds(connection) },
              sending,
              wanted,
            );
      refuseSameHeader(changed, headers?.header_names ?? before.header_names);
      const stored = { closesBreaker, headers, sending: changed };
      const after = found(await queries.updateEndpoint(connection, id, settings, stored));
      const [discarded] = ended;
      await note('change', {
        before,
        after: discarded === undefined ? after : { ...after, discarded },
      });
      return { before, after };
    },
  );
  // Deliveries may be due now, because a breaker was closed or a rate was raised.
  if (before.enabled || after.enabled) options.wakeUp.wake([after.id]);
  const { url, event_types, stores, where, ordered } = change;
  const isNews = [url, event_types, stores, where, ordered].some((given) => given !== undefined);
  if (!isNews) return after;
  const warnings = [...(await findWarnings(db, after)), ...warningsOf(before, after)];
  return { ...after, warnings };
}

/** Whether another host would see what was meant for the one before. */
function leadsElsewhere(before: { url: string }, after: { url: string }): boolean {
  return new URL(after.url).origin !== new URL(before.url).origin;
}

/** What a change leaves as it was, or takes away, and one might not think of. */
function warningsOf(before: queries.EndpointRow, after: queries.EndpointRow): string[] {
  const warnings: string[] = [];
  const isElsewhere = leadsElsewhere(before, after);
  const dropped = before.header_names.filter((name) => !after.header_names.includes(name));
  if (isElsewhere && dropped.length > 0) {
    warnings.push(
      `${dropped.join(', ')}: not sent to the new host. Give the headers anew that it needs.`,
    );
  }
  if (isElsewhere && before.delivery?.tls !== undefined && after.delivery?.tls === undefined) {
    warnings.push('Its certificates: not used for the new host. Give those anew that it needs.');
  }
  const { count, is_exact: isExact } = after.backlog;
  const waiting = `${isExact ? '' : 'At least '}${numberOf(count, 'delivery', 'deliveries')} waiting already`;
  if (count > 0 && before.ordered !== after.ordered) {
    warnings.push(`${waiting}: sent as they were accepted, in order or without.`);
  }
  const wanted = (row: queries.EndpointRow) =>
    JSON.stringify([row.event_types, row.stores, row.where]);
  if (count > 0 && wanted(before) !== wanted(after)) {
    warnings.push(`${waiting}: sent all the same, whatever types, stores and filter say now.`);
  }
  return warnings;
}

type NewHeaders = { id: string; change: Change; isElsewhere: boolean; sealed: Buffer | null };

/**
 * The headers of an endpoint after a change, sealed; null: as they are. They are meant for one receiver, so those not
 * named anew are gone when the URL leads elsewhere, and also those that no key opens.
 */
function newHeaders(
  { secretBox }: Pick<WebhookOptions, 'secretBox'>,
  { id, change, isElsewhere, sealed }: NewHeaders,
): SealedHeaders | null {
  if (change.headers === undefined && !isElsewhere) return null;
  const box = secretBox();
  const isKept = sealed !== null && !isElsewhere && canOpen(box, sealed, id);
  const before: CustomHeaders = isKept ? openHeaders(box, id, sealed) : {};
  return sealHeaders(
    box,
    id,
    changeHeaders(before, change.headers === undefined ? {} : change.headers),
  );
}

/** Settings after a change. A null means "back to the default", and what is not named stays. */
export function changedSettings(
  row: queries.EndpointSettings,
  { url = row.url, enabled, ...change }: Partial<Omit<Change, 'headers' | 'delivery'>>,
  by: string,
): queries.EndpointSettings {
  return {
    ...row,
    ...change,
    ...switched(row, enabled, by),
    // Who sends back what a list has shown changes nothing of it.
    url: url === maskUrl(row.url) ? row.url : url,
  };
}

/** Whether the endpoint is enabled. One that is disabled already keeps since when and by whom. */
function switched(
  row: queries.EndpointSettings,
  enabled: boolean | undefined,
  by: string,
): Pick<queries.EndpointSettings, 'enabled' | 'disabled_reason' | 'disabled_by'> {
  if (enabled === true) return { enabled, disabled_reason: null, disabled_by: null };
  if (enabled === false && row.enabled) {
    return { enabled, disabled_reason: 'operator', disabled_by: by };
  }
  const { disabled_reason, disabled_by } = row;
  return { enabled: row.enabled, disabled_reason, disabled_by };
}

/** How many deliveries the call itself discards, which takes about half a second. A job discards the rest. */
const discardedAtOnce = 5000;

/** Deletes an endpoint and discards what was not delivered to it. Throws 404 `endpoint_not_found`. */
export async function deleteEndpoint(
  db: Database,
  options: Pick<WebhookOptions, 'jobs' | 'audit'>,
  call: EndpointCall,
): Promise<void> {
  const { job } = await withLocked(db, options, call, async (connection, before, note) => {
    const { id } = before;
    // The endpoint, its deliveries, their counts: outcomes of attempts are written in the same order, so that the two
    // cannot deadlock.
    await queries.markDeleted(connection, id);
    // What a job had discarded of the backlog by now stands in no other entry.
    const [discarded_before] = await cancelBacklogJobs(connection, [id]);
    await queries.cancelReplaysOf(connection, id);
    if (before.type === 'pull') await queries.forgetPlace(connection, id);
    const discarded = await discardOfEndpoint(connection, id, discardedAtOnce);
    const isAll = discarded < discardedAtOnce;
    const done = { id, action: 'discard', discarded, isAll, by: call.actor.name } as const;
    const rest = await leaveToJob(connection, done);
    await note('delete', { before, after: { discarded_before, discarded, ...rest } });
    return rest;
  });
  // The job's row is committed by now, so the runner finds it.
  if (job !== undefined) options.jobs.poke();
}

/**
 * Enables an endpoint after discarding what waits for it now. A large backlog becomes a job, and the endpoint stays
 * disabled until that ends, so nothing of it can be sent even after a kill; enabling or disabling ends the job. Returns
 * the endpoint. Throws 404 `endpoint_not_found`, 409 `endpoint_enabled`.
 */
export async function discardBacklogOf(
  db: Database,
  options: Pick<WebhookOptions, 'jobs' | 'wakeUp' | 'audit'>,
  call: EndpointCall,
): Promise<queries.EndpointRow> {
  const after = await withLocked(db, options, call, async (connection, before, note) => {
    if (before.enabled) {
      throw new AppError('endpoint_enabled', {
        detail:
          'The endpoint is enabled: what is queued for it is being delivered. Disable it first, or purge single deliveries.',
      });
    }
    if (before.backlog.is_discarding) return before;
    const { id } = before;
    const limits = { limit: discardedAtOnce, until: null };
    const { discarded, isEnabled: isAll } = await discardThenEnable(connection, id, limits);
    const done = { id, action: 'discard_backlog', discarded, isAll, by: call.actor.name } as const;
    const rest = await leaveToJob(connection, done);
    const now = await getEndpoint(connection, call.actor, id);
    await note('discard_backlog', { before, after: { ...now, discarded, ...rest } });
    return now;
  });
  if (after.enabled) options.wakeUp.wake([after.id]);
  else options.jobs.poke();
  return after;
}

/**
 * Makes a job of what is left to discard, unless that is all done. Returns what the audit log tells of it: not how much is
 * left, because a backlog of any size would be counted while the endpoint is locked. The entry at its end tells that.
 */
async function leaveToJob(
  connection: Connection,
  done: Pick<Parameters<typeof queries.insertDiscardJob>[1], 'action'> & {
    id: string;
    discarded: number;
    isAll: boolean;
    by: string;
  },
): Promise<{ job?: string }> {
  const { id: endpointId, action, discarded: rowsDone, isAll, by: createdBy } = done;
  // An endpoint that is deleted needs no job when nothing is left. A disabled one is enabled by its job.
  if (isAll || (action === 'discard' && !(await hasLiveRows(connection, endpointId)))) return {};
  const job = newId('job');
  await queries.insertDiscardJob(connection, { id: job, action, endpointId, rowsDone, createdBy });
  return { job };
}

/** Gives an endpoint a new secret, shown only here; the old one signs for 24 hours. Throws 404 `endpoint_not_found`. */
export async function rotateSecret(
  db: Database,
  options: Pick<WebhookOptions, 'secretBox' | 'audit'>,
  call: EndpointCall,
) {
  const box = options.secretBox();
  const secret = newSecret();
  const rotated = await withLocked(db, options, call, async (connection, { id }, note) => {
    const old = found(await queries.findSealed(connection, id));
    const previous = canOpen(box, old.secret, id) ? old.secret : null;
    const secrets = { fresh: box.seal(secret, id), previous };
    const after = found(await queries.updateSecret(connection, id, secrets));
    await note('rotate_secret', { after: { previous_secret_until: after.previous_secret_until } });
    return after;
  });
  return { ...rotated, secret };
}

/** Ends the secrets and key pairs that were replaced: only the present ones sign. Throws 404 `endpoint_not_found`. */
export async function endOldSecretsOf(
  db: Database,
  options: Pick<WebhookOptions, 'audit' | 'secretBox'>,
  call: EndpointCall,
): Promise<queries.EndpointRow> {
  return withLocked(db, options, call, async (connection, before, note) => {
    const { id, delivery } = before;
    const sealed = found(await queries.findSealed(connection, id));
    const sending = endPreviousKeys(options.secretBox(), id, { ...sealed, delivery });
    const after = found(await queries.endOldSecrets(connection, id, sending));
    const { previous_secret_until } = before;
    const previous_key_until = delivery?.previous_key_until;
    const ended = { previous_secret_until, ...(previous_key_until && { previous_key_until }) };
    await note('end_old_secrets', { before: ended });
    return after;
  });
}
