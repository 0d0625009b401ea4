import type { AuditEntry } from '../api/types.ts';
import { type Slice, shortId, sliceText } from '../ui/words.ts';

/**
 * What was done by each action. {name} is what it was done to, {slice} the records, {format} the format, and {of} the
 * tenants that it concerns; {says} is what would be done.
 */
const acts: Readonly<Record<string, string>> = {
  'token.create': 'made the token {name}{of}',
  'token.revoke': 'revoked the token {name}{of}',
  'token.rotate': 'gave the token {name} another secret',
  'token.refuse': 'was refused: the token {name} came from elsewhere',
  'session.open': 'signed in',
  'session.close': 'signed out',
  'session.confirm': 'confirmed who signed in',
  'session.refuse': 'was not let in',
  'session.end': 'ended the session {name}',
  'session.end_all': 'ended all sessions',
  'view.delete': 'deleted the saved view {name}{of}',
  'portal_link.create': 'made a link into the portal{of}',
  'portal_link.revoke': 'revoked a link into the portal{of}',
  'portal_link.open': 'came into the portal{of}',
  'approval.ask': 'asked somebody else to confirm: {says}',
  'approval.confirm': 'confirmed what was asked for: {says}',
  'approval.reject': 'rejected what was asked for: {says}',
  'approval.expire': 'ended what nobody confirmed in time: {says}',
  'approval.void': 'ended what could not be done as it was asked for: {says}',
  'tag.create': 'tagged {slice} as {dataset}',
  'tag.delete': 'removed the tag {dataset} from {slice}',
  'version.create': 'froze the version {name}{of}',
  'version.delete': 'deleted the version {name}{of}',
  'export.csv': 'downloaded {slice} as {format}',
  'export.ndjson': 'downloaded {slice} as {format}',
  'export.parquet': 'downloaded {slice} as {format}',
  'export.create': 'asked for an export of {slice} as {format}',
  'export.download': 'downloaded the file {name}{of}',
  'export.deliver': 'had the file {name}{of} delivered by a schedule',
  'export.link': 'made a link to an export of {slice} as {format}',
  'export.cancel': 'cancelled the export {name}{of}',
  'export.remove': 'removed the file of the export {name}{of}',
  'schedule.create': 'made the schedule {name}{of}',
  'schedule.change': 'changed the schedule {name}{of}',
  'schedule.run': 'started the schedule {name}{of}',
  'schedule.delete': 'deleted the schedule {name}{of}',
  'retention.policy.set': 'set the retention{of}',
  'retention.policy.delete': 'took the retention{of} back to the default',
  'retention.run': 'started a retention run{of}',
  'retention.verify': 'started a verification{of}',
  'retention.adopt_store': 'took over the store of objects',
  'retention.orphans.remove': 'removed objects that nothing knows',
  'retention.orphans.adopt': 'took back a segment{of}',
  'retention.forget': 'gave up a lost segment{of}',
  'records.read': 'read {slice}',
  'records.erase': 'erased records{of}',
  'records.recount': 'counted records{of} anew',
  'endpoint.create': 'made the endpoint {name}{of}',
  'endpoint.change': 'changed the endpoint {name}{of}',
  'endpoint.disable': 'disabled the endpoint {name}{of}',
  'endpoint.delete': 'deleted the endpoint {name}{of}',
  'endpoint.discard_backlog': 'discarded what waited for the endpoint {name}{of}',
  'endpoint.rotate_secret': 'gave the endpoint {name}{of} another secret',
  'endpoint.end_old_secrets': 'ended the old secrets of the endpoint {name}{of}',
  'endpoint.ping': 'pinged the endpoint {name}{of}',
  'endpoint.skip': 'skipped a delivery of the endpoint {name}{of}',
  'endpoint.replay': 'replayed incidents to the endpoint {name}{of}',
  'event_type.set': 'set the event type {name}',
  'event_type.delete': 'deleted the event type {name}',
  'incident.erase': 'erased the incident {name}{of}',
  'incidents.erase': 'erased incidents{of}',
  'delivery.retry': 'retried the delivery {name}{of}',
  'delivery.purge': 'purged the delivery {name}{of}',
  'retry_job.create': 'started a retry of all that fits{of}',
  'retry_job.change': 'changed the retry {name}{of}',
  'retry_job.cancel': 'cancelled the retry {name}{of}',
  'purge_job.create': 'started a purge of all that fits{of}',
  'purge_job.change': 'changed the purge {name}{of}',
  'purge_job.cancel': 'cancelled the purge {name}{of}',
  'purge_job.end': 'ended the purge {name}{of}',
  'replay.change': 'changed the replay {name}{of}',
  'replay.cancel': 'cancelled the replay {name}{of}',
  'notify_target.create': 'had notices sent to {name}',
  'notify_target.change': 'changed where notices go: {name}',
  'notify_target.delete': 'ended the notices to {name}',
  'notify_target.test': 'tested the notices to {name}',
  'key.rotate': 'took another key for the secrets of webhooks',
  'backup.create': 'made a backup',
  'backup.restore': 'restored a backup',
  'audit.reseal': 'began to seal this log anew',
  'audit.prune': 'removed old entries of this log',
};

type Told = Pick<AuditEntry, 'action' | 'target' | 'tenants' | 'before' | 'after'>;

/** What an entry tells, as `deleted the endpoint https://… of TX`. `names` has what ids are called elsewhere. */
export function sentenceOf(entry: Told, names?: ReadonlyMap<string, string>): string {
  const { action, target, tenants, after } = entry;
  const state = statesOf(entry);
  const parts: Readonly<Record<string, string>> = {
    name: nameIn(state) ?? names?.get(target ?? '') ?? shortId(target ?? ''),
    slice: sliceText(sliceIn(state, tenants)),
    dataset: textOr(state.dataset, 'data').replace('_', '-'),
    format: textOr(state.format, action.split('.')[1] ?? ''),
    says: textOr(state.says, shortId(target ?? '')),
    of: tenants === null || tenants.length === 0 ? '' : ` of ${tenants.join(', ')}`,
  };
  const isEnabling = action === 'endpoint.change' && isSwitched(entry);
  const able = (after as { enabled?: unknown } | null)?.enabled === true ? 'enabled' : 'disabled';
  const act = isEnabling ? `${able} the endpoint {name}{of}` : acts[action];
  const text = act ?? `${action}${target === null ? '' : ' {name}'}{of}`;
  return text.replace(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? '');
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

/** What the ids of these entries are called, as far as any of them says it. */
export function namesIn(entries: readonly Told[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const entry of entries) {
    const name = nameIn(statesOf(entry));
    if (entry.target !== null && name !== null && !names.has(entry.target)) {
      names.set(entry.target, name);
    }
  }
  return names;
}

type State = Readonly<Record<string, unknown>>;

function statesOf({ before, after }: Pick<Told, 'before' | 'after'>): State {
  return { ...objectOf(before), ...objectOf(after) };
}

function objectOf(value: unknown): State {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as State)
    : {};
}

function nameIn(state: State): string | null {
  const named = [state.url, state.name, state.file_name, state.type, state.to];
  const name = named.find((each) => typeof each === 'string' && each !== 'pull');
  return typeof name === 'string' ? name : null;
}

function sliceIn(state: State, tenants: readonly string[] | null): Slice {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    tenant: text(state.tenant) ?? tenants?.join(', ') ?? 'all tenants',
    store: text(state.store),
    month: text(state.month),
    from: text(state.from),
    to: text(state.to),
  };
}

/** Whether an endpoint was enabled or disabled. */
function isSwitched({ before, after }: Told): boolean {
  const [was, is] = [objectOf(before).enabled, objectOf(after).enabled];
  return typeof is === 'boolean' && was !== is;
}
