import { utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, vi } from 'vitest';
import type { CallOptions, TestService } from '../../../test/service.ts';
import { newAccessToken, newId } from '../../kernel/ids.ts';
import { seedDeliveries, seedDelivery } from '../../webhooks/dead-letters/testing/seed.ts';
import { laneOf } from '../../webhooks/lanes.ts';
import { makeRoot } from './make-root.ts';

/** Where the schedules of the matrix deliver. */
export const deliveries = join(tmpdir(), `svcctl-matrix-${process.pid}`);
const nightly = { format: 'csv', cron: '0 2 * * *' };

/** The kinds of things that a path or a filter names, by the beginning of the paths that do. */
const kindsByPath = [
  ['/tokens/', 'token'],
  ['/sessions/', 'session'],
  ['/approvals/', 'approval'],
  ['/views/', 'view'],
  ['/enrichment/records/counts/', 'count'],
  ['/enrichment/imports/jobs/', 'importJob'],
  ['/enrichment/tags/', 'tag'],
  ['/enrichment/erasures/', 'erasure'],
  ['/enrichment/dataset-versions/', 'version'],
  ['/exports/links/', 'link'],
  ['/exports/schedules/', 'schedule'],
  ['/exports/', 'export'],
  ['/retention/policies/', 'policy'],
  ['/retention/runs/', 'run'],
  ['/retention/moves/', 'move'],
  ['/retention/verify/', 'verification'],
  ['/webhook/endpoints/', 'endpoint'],
  ['/webhook/portal-links/', 'portalLink'],
  ['/webhook/event-types/', 'eventType'],
  ['/incidents/', 'incident'],
  ['/webhook/dlq/retries/', 'retryJob'],
  ['/webhook/dlq/jobs/', 'retryJob'],
  ['/webhook/dlq/', 'delivery'],
  ['/webhook/replays/', 'replay'],
  ['/notify/targets/', 'notifyTarget'],
  ['/jobs/', 'retryJob'],
] as const;
export type Kind =
  | (typeof kindsByPath)[number][1]
  | 'disabledEndpoint'
  | 'blockedEndpoint'
  | 'polledEndpoint'
  | 'lostSegment'
  | 'orphan'
  | 'portalCode'
  | 'visit'
  | 'owner';

/** The filters of lists that name a tenant or a thing of it. */
export const kindsByFilter: Readonly<Record<string, Kind>> = {
  tenant: 'policy',
  q: 'policy',
  actor: 'owner',
  endpoint_id: 'endpoint',
  incident_id: 'incident',
  run_id: 'run',
  version: 'version',
  schedule: 'schedule',
};

/** The kind of thing that the parameter of a path names. A path of a new kind of thing has to be added above. */
export function kindOfPath(path: string): Kind {
  const found = kindsByPath.find(([beginning]) => path.startsWith(`${beginning}:`));
  if (found === undefined) throw new Error(`matrix-world.ts does not know what ${path} names`);
  return found[1];
}

export type MatrixTenant = {
  readonly tenant: string;
  /** An admin token that reaches this tenant alone. */
  readonly secret: string;
  /** One thing of each kind, which calls must leave as it is. */
  readonly things: Readonly<Record<Kind, string>>;
  readonly fresh: (kind: Kind) => Promise<string>;
  /** Waits until an export job is completed. */
  readonly complete: (id: string) => Promise<string>;
};

/** A tenant that has one of everything, some of it cold. */
export async function seedTenant(service: TestService, tenant: string): Promise<MatrixTenant> {
  const owner = await service.makeToken({ preset: 'admin', tenants: [tenant] });
  const secret = owner.token;
  const caller = callerWith(service, secret);
  const { call, untilCompleted } = caller;
  const makers = makersOf(service, { tenant, ownerId: owner.id }, caller);
  const records = Array.from({ length: 10 }, (_, n) => recordOf(tenant, n));
  await call('POST', '/enrichment/records', { body: { records } });
  const run = await makers.run();
  await untilCompleted(`/retention/runs/${run}`);
  // A late record: there is something hot, and something for the next run to do.
  await call('POST', '/enrichment/records', { body: { records: [recordOf(tenant, 10)] } });
  await call('POST', '/enrichment/tags', { body: { tenant, dataset: 'training' } });
  const orphan = `records/tenant=${tenant}/2001-01-01_2001-01-01_seg_y.parquet`;
  const late = {
    run,
    orphan,
    lostSegment: `records/tenant=${tenant}/1970-01-01_1970-01-01_seg_x.parquet`,
  };
  const kinds = Object.keys(makers).filter((kind) => !(kind in late)) as Kind[];
  const ids = await Promise.all(kinds.map(async (kind) => [kind, await makers[kind]()] as const));
  const things = { ...Object.fromEntries(ids), ...late } as Record<Kind, string>;
  await seedDelivery(service.db, { id: things.endpoint, tenant });
  await service.db.query(sql`
    insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned)
    values (${laneOf(things.endpoint)}, ${things.endpoint}, date_trunc('hour', now()), 5, 0, 0)`);
  const complete = (id: string) => untilCompleted(`/exports/${id}`);
  await complete(things.export);
  await runSchedule(call, things.schedule);
  return { tenant, secret, things, fresh: (kind) => makers[kind](), complete };
}

type Caller = ReturnType<typeof callerWith>;

/** Calls the API in the name of the tenant's admin. Each call must succeed. */
function callerWith(service: TestService, secret: string) {
  const call = async (method: string, path: string, options: CallOptions = {}) => {
    const answer = await service.call(method, path, { token: secret, ...options });
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer.json;
  };
  const untilCompleted = (path: string, options?: CallOptions): Promise<string> => {
    const look = async () => {
      const row = await call('GET', path, options);
      if (row.state === 'failed') throw new Error(JSON.stringify(row));
      return row.state === 'completed' && row.id;
    };
    return vi.waitUntil(look, { timeout: 120_000, interval: 20 });
  };
  const idOf = async (method: string, path: string, body: unknown) =>
    (await call(method, path, { body })).id as string;
  return { call, untilCompleted, idOf };
}

/** Lets the key `k` of an endpoint wait for a delivery that was abandoned. */
async function blockKey({ db }: TestService, endpoint: { id: string; tenant: string }) {
  const delivery = await seedDelivery(db, endpoint, { status: 'abandoned' });
  await db.query(
    sql`update deliveries set order_key = 'k', order_state = 'head' where id = ${delivery}`,
  );
  return endpoint.id;
}

/** Stores a count that is paused, because another would end by itself. */
async function seedCount(db: TestService['db'], tenant: string, tokenId: string): Promise<string> {
  const id = newId('cnt');
  const slice = { tenant, recordedBefore: '2020-01-01T00:00:00.000000Z' };
  await db.query(sql`
    insert into record_counts (tenant, id, state, request, slice, total, requested_by, token_id)
    values (${tenant}, ${id}, 'paused', ${JSON.stringify({ tenant })}::json, ${JSON.stringify(slice)}::json, 0,
      'owner', ${tokenId})`);
  return id;
}

function jobMakers(
  db: TestService['db'],
  { tenant, ownerId }: { tenant: string; ownerId: string },
  idOf: Caller['idOf'],
) {
  let made = 0;
  return {
    count: () => seedCount(db, tenant, ownerId),
    importJob() {
      const digest = String(++made).padStart(64, '0');
      return idOf('POST', '/enrichment/imports/jobs', { digest, files: 1, total: null });
    },
  };
}

/** Makes one more thing of each kind. */
function makersOf(
  service: TestService,
  { tenant, ownerId }: { tenant: string; ownerId: string },
  { call, untilCompleted, idOf }: Caller,
): Record<Kind, () => Promise<string>> {
  let made = 0;
  const endpoint = (enabled: boolean) =>
    idOf('POST', '/webhook/endpoints', { tenant, url: `http://127.0.0.1:9/${++made}`, enabled });
  const day = () => `2020-02-${String((++made % 28) + 1).padStart(2, '0')}`;

  const makers: Record<Kind, () => Promise<string>> = {
    owner: async () => ownerId,
    token: () => idOf('POST', '/tokens', { name: 'x', preset: 'curator', tenants: [tenant] }),
    async session() {
      const body = { name: 'y', preset: 'curator', tenants: [tenant] };
      const { id, token } = await call('POST', '/tokens', { body });
      await call('POST', '/session', { token: null, body: { token } });
      const { data } = await call('GET', '/sessions');
      return data.find((row: { actor: { token_id: string } }) => row.actor.token_id === id).id;
    },
    ...guestMakers(service, call, tenant),
    tag() {
      const from = day();
      const window = { store: `S${made}`, from, to: from };
      return idOf('POST', '/enrichment/tags', { tenant, ...window, dataset: 'fine_tuning' });
    },
    ...jobMakers(service.db, { tenant, ownerId }, idOf),
    version() {
      const body = { tenant, dataset: 'training', name: `version ${++made}` };
      return idOf('POST', '/enrichment/dataset-versions', body);
    },
    async link() {
      const body = { tenant, delivery: 'link' };
      return (await call('POST', '/exports/csv', { body })).url.split('/').at(-1);
    },
    async export() {
      const headers = { prefer: 'respond-async' };
      return (await call('POST', '/exports/csv', { headers, body: { tenant } })).id;
    },
    schedule: () =>
      idOf('POST', '/exports/schedules', { ...nightly, tenant, to: `${deliveries}/${++made}` }),
    async policy() {
      await call('PUT', `/retention/policies/${tenant}`, { body: { hot_days: 3 } });
      return tenant;
    },
    run: () => idOf('POST', '/retention/run', { tenant }),
    move: async () => (await call('GET', `/retention/moves?tenant=${tenant}`)).data[0].id,
    erasure: () => idOf('POST', '/enrichment/erase', { tenant, event_ids: ['none'] }),
    verification: () => idOf('POST', '/retention/verify', { tenant }),
    endpoint: () => endpoint(true),
    disabledEndpoint: () => endpoint(false),
    polledEndpoint: () => idOf('POST', '/webhook/endpoints', { tenant, type: 'pull' }),
    blockedEndpoint: async () => blockKey(service, { id: await makers.endpoint(), tenant }),
    async incident() {
      await makers.endpoint();
      return idOf('POST', '/incidents', { tenant, type: 'incident.created', data: {} });
    },
    async delivery() {
      return seedDelivery(service.db, { id: await makers.endpoint(), tenant });
    },
    notifyTarget: () => makeTarget(service, `http://127.0.0.1:9/${++made}`),
    eventType: () => makeEventType(service, `matrix.made${++made}`),
    // It holds nothing, and its object was never written. All reads of the tenant fail while it is there.
    async lostSegment() {
      const key = `records/tenant=${tenant}/1970-01-01_1970-01-01_seg_${++made}0.parquet`;
      await service.db.query(sql`
        insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day)
        values (${tenant}, ${`seg_${made}`}, ${key}, 1, '', 0, 0, 0, '1970-01-01', '1970-01-01')`);
      return key;
    },
    // The only segment of a tenant of its own, which is in no table any more, and was written long ago.
    async orphan() {
      const [other, token] = [`${tenant}-${++made}`, service.adminToken];
      await call('POST', '/enrichment/records', { token, body: { records: [recordOf(other, 0)] } });
      const { id } = await call('POST', '/retention/run', { token, body: { tenant: other } });
      await untilCompleted(`/retention/runs/${id}`, { token });
      const [gone] = await service.db.query<{ key: string }>(
        sql`delete from segments where tenant = ${other} returning object_key as key`,
      );
      await service.db.query(sql`delete from segment_days where tenant = ${other}`);
      await service.db.query(sql`delete from leaf_days where tenant = ${other}`);
      const key = gone?.key ?? '';
      await utimes(join(service.dataDir, 'cold', key), 0, 0);
      return key;
    },
    // It has rows for a hundred seconds.
    async retryJob() {
      const id = await makers.endpoint();
      await seedDeliveries(service.db, { id, tenant }, 100);
      return idOf('POST', '/webhook/dlq/retry', { tenant, endpoint_id: id, rate: 1 });
    },
    // It would end by itself two seconds after its range.
    async replay() {
      const at = `/webhook/endpoints/${await makers.endpoint()}/replay`;
      const id = await idOf('POST', at, { since: '2026-03-05T00:00:00Z' });
      return idOf('PATCH', `/webhook/replays/${id}`, { state: 'paused' });
    },
  };
  return makers;
}

/** Portal links, their codes and the cookies they opened; and what a token that nobody else made has asked for. */
function guestMakers(service: TestService, call: Caller['call'], tenant: string) {
  const make = () => call('POST', '/webhook/portal-links', { body: { tenant } });
  const portalCode = async (): Promise<string> => (await make()).url.split('code=').at(-1);
  return {
    async view(): Promise<string> {
      const name = `view ${newId('apr')}`;
      const body = { address: `#/dlq?tenant=${tenant}` };
      await call('PUT', `/views/${encodeURIComponent(name)}`, { body });
      return name;
    },
    portalLink: async (): Promise<string> => (await make()).id,
    portalCode,
    async approval() {
      const [id, { id: asker }] = [newId('apr'), await makeRoot(service, { name: 'asker' })];
      const { updated_at } = await call('GET', `/retention/policies/${tenant}`);
      const about = { days: null, kept: null, hold: false, since: updated_at };
      await service.db.query(sql`
        insert into approvals (id, acts, route, params, body, says, about, tenant, asker_id, asker_name, asker_root, request_id)
        values (${id}, '{delete_days}', 'putPolicy', ${JSON.stringify({ tenant })}, '{"hot_days":3}', 'Does it.',
          ${JSON.stringify(about)}, ${tenant}, ${asker}, 'asker', ${asker}, 'req_asked')`);
      return id;
    },
    async visit() {
      const options = { token: null, body: { code: await portalCode() } };
      const { headers } = await service.call('POST', '/portal/session', options);
      return headers.get('set-cookie')?.split(';')[0] ?? '';
    },
  };
}

async function makeTarget(service: TestService, url: string): Promise<string> {
  const body = { kind: 'webhook', url };
  return (await service.call('POST', '/notify/targets', { body })).json.id;
}

async function makeEventType(service: TestService, type: string): Promise<string> {
  await service.call('PUT', `/webhook/event-types/${type}`, { body: {} });
  return type;
}

/** Has a schedule run once. */
async function runSchedule(call: Caller['call'], id: string): Promise<void> {
  await call('POST', `/exports/schedules/${id}/run`);
  const read = () => call('GET', `/exports/schedules/${id}`);
  await vi.waitUntil(async () => (await read()).last_run?.delivered_at, { timeout: 60_000 });
}

/** A tenant that does not exist, with ids that do not exist and look like those of the other. */
export function ghostOf(of: MatrixTenant, tenant: string): MatrixTenant {
  const swap = (id: string) => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`;
  const things = Object.entries(of.things).map(([kind, id]) => [
    kind,
    kind === 'policy' ? tenant : swap(id),
  ]);
  const ghost = Object.fromEntries(things) as Record<Kind, string>;
  return {
    tenant,
    secret: newAccessToken(),
    things: ghost,
    fresh: async (kind) => ghost[kind],
    complete: async (id) => id,
  };
}

/** A record that is cold by the time of the calls if `n` is below 10. */
export function recordOf(tenant: string, n: number) {
  return {
    tenant,
    store: 'S',
    event_id: `e${n}`,
    occurred_at: `2020-02-28T12:00:00.${String(n).padStart(6, '0')}Z`,
    kind: 'k',
    enrichment: { n },
  };
}
