import { entryKeyOf } from '../access/words.ts';
import { api } from '../api/client.ts';
import type {
  AccessToken,
  AuditEntry,
  BulkJob,
  DatasetVersion,
  DeadLetters,
  Delivery,
  DeliveryDetail,
  Endpoint,
  ExportJob,
  IncidentDetail,
  ListedJob,
  Page,
  Replay,
  RetentionMove,
  RetentionRun,
  Tag,
  Verification,
} from '../api/types.ts';
import { type BulkAction, deadLetterStatuses } from '../api/values.ts';
import type { RecordIdentity } from '../records/search.ts';
import { retentionHref } from '../retention/search.ts';
import { stringifySearch } from '../ui/hash-state.ts';
import { exportHref, jobHref, panelHref, runHref } from '../ui/panel-place.ts';
import { countOf, shellLine } from '../ui/words.ts';
import { deliveryHref, incidentHref } from '../webhooks/search.ts';
import { eventIdOf, eventWord, type IdKind } from './id-kinds.ts';
import { placeOf } from './pasted-place.ts';

/** Something that an id leads to: a place of the console, or else the command that shows it. */
export type Finding = {
  readonly name: string;
  readonly note: string;
  readonly href?: string;
  readonly command?: string;
};

/** Where a look-up is made: the tenant that is chosen on the page, if any. */
type LookUp = { readonly tenant: string | undefined; readonly signal: AbortSignal };

type Find = (id: string, by: LookUp) => Promise<readonly Finding[]>;

/** What an id leads to. A look-up of an unknown id may also throw 404. */
export function findId(kind: IdKind, id: string, by: LookUp): Promise<readonly Finding[]> {
  return finders[kind.prefix](id, by);
}

const finders: Readonly<Record<IdKind['prefix'], Find>> = {
  dlv: findDelivery,
  msg: findDeadLetters,
  inc: one<IncidentDetail>('/incidents', ({ type, tenant, deliveries }, id) => ({
    name: `${type} of ${tenant}`,
    note: `incident, ${countOf(deliveries.length, 'delivery', 'deliveries')}`,
    href: incidentHref(id),
  })),
  ep: one<Endpoint>('/webhook/endpoints', ({ url, tenant, enabled }, id) => ({
    name: url,
    note: `endpoint of ${tenant}${enabled ? '' : ', disabled'}`,
    href: panelHref('/endpoints', { kind: 'endpoint', id }),
  })),
  exp: one<ExportJob>('/exports', ({ file_name, state }, id) => ({
    name: file_name,
    note: `export, ${state}`,
    href: exportHref(id),
  })),
  ver: one<DatasetVersion>('/enrichment/dataset-versions', ({ name, tenant, count }, id) => ({
    name,
    note: `version of ${tenant}${count === null ? '' : `, ${countOf(count, 'record')}`}`,
    href: panelHref('/records', { kind: 'version', id }, { tenant, view: 'versions' }),
  })),
  cnt: one<ListedJob>('/jobs', ({ summary, state }, id) => ({
    name: summary,
    note: `job, ${state}`,
    href: jobHref(id),
  })),
  tag: findTag,
  mov: one<RetentionMove>('/retention/moves', ({ kind, tenant, state }, id) => ({
    name: `${kind} of ${tenant}`,
    note: `move, ${state}`,
    href: retentionHref('move', id),
  })),
  run: one<RetentionRun>('/retention/runs', ({ state }, id) => ({
    name: 'Its moves in the journal',
    note: `retention run, ${state}`,
    href: runHref(id),
  })),
  vrf: one<Verification>('/retention/verify', ({ tenant, state }, id) => ({
    name: `Verification of ${tenant ?? 'all tenants'}`,
    note: state,
    href: retentionHref('verification', id),
  })),
  rty: findBulkJob('retry'),
  prg: findBulkJob('purge'),
  rpl: one<Replay>('/webhook/replays', ({ state, rows_done, rows_total, tenant }, id) => ({
    name: `Replay of ${tenant}, ${state}: ${rows_done}${rows_total === null ? '' : ` of ${rows_total}`}`,
    note: 'job',
    href: jobHref(id),
  })),
  tok: async (id, { signal }) => {
    const { data } = await api.get<Page<AccessToken>>('/tokens', {}, signal);
    return data
      .filter((token) => token.id === id)
      .map(({ name }) => ({
        name: `Access token “${name}”`,
        note: 'what it did',
        href: `#/access${stringifySearch({ view: 'audit', actor: id })}`,
      }));
  },
  seg: async () => [
    {
      name: 'RETENTION: what lies in the cold tier',
      note: 'a segment is one object of it',
      href: '#/retention',
    },
  ],
  job: async () => [
    { name: 'ENDPOINTS', note: 'one of them discards its backlog', href: '#/endpoints' },
  ],
  req: findRequest,
  [eventWord]: findEvent,
};

const mostRecords = 8;
/** A look finds all hot records of an event by an index, and looks into as many segments as a request may. */
const mostLooks = 50;

/** The records of an event, wherever they are. */
async function findEvent(text: string, { signal }: LookUp): Promise<readonly Finding[]> {
  const params = { event_id: eventIdOf(text), limit: mostRecords };
  let cursor: string | undefined;
  for (let looks = 0; looks < mostLooks; looks += 1) {
    const page = await api.get<Page<RecordIdentity>>(
      '/enrichment/records',
      { ...params, cursor },
      signal,
    );
    const found = page.data.flatMap((record) => {
      const place = placeOf(record);
      if (place === undefined) return [];
      const { tenant, store, occurred_at } = record;
      return [{ name: `${tenant} › ${store} › ${occurred_at}`, note: 'record', href: place.href }];
    });
    if (found.length > 0 || page.next_cursor === null) return found;
    cursor = page.next_cursor;
  }
  const command = shellLine(['svcctl', 'records', 'find', params.event_id ?? '']);
  return [{ name: 'Not found so far', note: `copies ${command}, which looks on`, command }];
}

function findBulkJob(action: BulkAction): Find {
  return one<BulkJob>('/webhook/dlq/jobs', ({ state, rows_done, rows_total }, id) => ({
    name: `Bulk ${action}, ${state}: ${rows_done} of ${rows_total}`,
    note: 'job',
    href: jobHref(id),
  }));
}

/** Reads one thing below a path by its id, and says what it leads to. */
function one<T>(path: string, toFinding: (found: T, id: string) => Finding): Find {
  return async (id, { signal }) => [toFinding(await api.get<T>(`${path}/${id}`, {}, signal), id)];
}

const deliveryIdLength = 'dlv_07'.length + 18;
const mostDeadLetters = 5;

/** A delivery in any state by its whole id; by the beginning of its id only if it is in the dead-letter queue. */
async function findDelivery(id: string, by: LookUp): Promise<readonly Finding[]> {
  if (id.length < deliveryIdLength) return findDeadLetters(id, by);
  return one<DeliveryDetail>('/webhook/dlq', deliveryFinding)(id, by);
}

/** The deliveries of the dead-letter queue whose id or idempotency key begins so. */
async function findDeadLetters(q: string, { signal }: LookUp): Promise<readonly Finding[]> {
  const pages = await Promise.all(
    deadLetterStatuses.map((status) =>
      api.get<DeadLetters>('/webhook/dlq', { status, q, limit: mostDeadLetters }, signal),
    ),
  );
  return pages.flatMap(({ data }) => data).map(deliveryFinding);
}

function deliveryFinding({ id, target, status, tenant }: Delivery): Finding {
  return { name: target, note: `delivery of ${tenant}, ${status}`, href: deliveryHref(id) };
}

const mostTags = 500;

/** A tag among those of the chosen tenant. Tags cannot be looked up without their tenant. */
async function findTag(id: string, { tenant, signal }: LookUp): Promise<readonly Finding[]> {
  const { data } =
    tenant === undefined
      ? { data: [] }
      : await api.get<Page<Tag>>('/enrichment/tags', { tenant, limit: mostTags }, signal);
  const tag = data.find((each) => each.id === id);
  if (tag === undefined) {
    const command = `svcctl records tags ls --tenant ${tenant ?? 'TENANT'}`;
    return [{ name: 'TAGS of its tenant has it', note: `copies ${command}`, command }];
  }
  const node = { tenant: tag.tenant, store: tag.store ?? undefined, view: 'tags' };
  return [
    {
      name: [tag.tenant, tag.store].filter((name) => name !== null).join(' › '),
      note: `tag of ${countOf(tag.count, 'record')}`,
      href: `#/records${stringifySearch(node)}`,
    },
  ];
}

const mostEntries = 500;

/** A request among the latest that wrote something; the log of the service has the others. */
async function findRequest(id: string, { signal }: LookUp): Promise<readonly Finding[]> {
  const { data } = await api.get<Page<AuditEntry>>('/audit', { limit: mostEntries }, signal);
  const entry = data.find(({ request_id }) => request_id === id);
  if (entry === undefined) {
    const command = 'svcctl audit ls --json request_id,at,actor,action,target';
    return [{ name: 'The log of the service has it', note: 'it is not in the audit', command }];
  }
  const name = [entry.action, entry.target].filter((part) => part !== null).join(' ');
  const place = { kind: 'entry', id: entryKeyOf(entry) };
  return [
    { name, note: `by ${entry.actor.name}`, href: panelHref('/access', place, { view: 'audit' }) },
  ];
}
