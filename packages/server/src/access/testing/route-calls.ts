import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { portalHeader } from '../values.ts';
import { deliveries, type MatrixTenant, recordOf } from './matrix-world.ts';
import type { ForeignTenant } from './route-rules.ts';

/** How a route is called so that it succeeds for whoever reaches the tenant. */
export type RouteCall = {
  /** Beside the filters that the contract has, each of which is tried by itself. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The parameter of the path, where it is not simply a thing of the kind that the path begins with. */
  readonly id?: string;
  /** `session`: with the cookie of a console session; `nobody`: without any token. By default with a token. */
  readonly as?: 'session' | 'nobody';
  /** Where this way of calling differs from the rule of its route. */
  readonly foreign?: ForeignTenant;
  readonly audit?: string;
};

/**
 * The calls of a route for a tenant; by default one, without a body. `fresh` makes a thing that only this call uses.
 */
export const routeCalls: Readonly<
  Record<string, (of: MatrixTenant) => readonly RouteCall[] | Promise<readonly RouteCall[]>>
> = {
  listSignIns: () => [{ as: 'nobody' }],
  beginSignIn: () => [{ as: 'nobody', body: { purpose: 'page' } }],
  signIn: ({ secret }) => [{ as: 'nobody', body: { token: secret } }],
  signOut: () => [{ as: 'session' }],
  confirmSession: ({ secret }) => [{ as: 'session', body: { token: secret } }],
  endOwnSessions: () => [{ as: 'session' }],
  createToken: ({ tenant }) => [{ body: { name: 'made', preset: 'pipeline', tenants: [tenant] } }],
  putSavedView: ({ tenant }) => [{ id: 'mine', body: { address: `#/dlq?tenant=${tenant}` } }],
  deleteSavedView: async ({ fresh }) => [{ id: await fresh('view') }],
  createPortalLink: ({ tenant }) => [{ body: { tenant, subject: 'jo' } }],
  openPortal: async ({ fresh }) => [{ as: 'nobody', body: { code: await fresh('portalCode') } }],
  closePortal: async ({ fresh }) => [{ headers: portalHeaders(await fresh('visit')) }],

  ingestRecords: ({ tenant }) => [
    { body: { records: [recordOf(tenant, 1000)] } },
    { query: { dry_run: 'true' }, body: { records: [recordOf(tenant, 1002)] } },
    {
      body: `${JSON.stringify(recordOf(tenant, 1001))}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    },
  ],
  listDatasets: () => [{ query: { level: 'tenant' } }, { query: { level: 'store' } }, {}],
  getRecord: ({ tenant }) => {
    const { store, occurred_at, event_id } = recordOf(tenant, 0);
    return [{ query: { tenant, store, occurred_at, event_id } }];
  },
  countRecords: ({ tenant }) => [{ query: { tenant } }],
  startCount: ({ tenant }) => [{ body: { tenant } }],
  changeCount: async ({ fresh }) => [{ id: await fresh('count'), body: { state: 'paused' } }],
  startImport: () => [{ body: { digest: 'a'.repeat(64), files: 1, total: 1 } }],
  reportImport: async ({ fresh }) => {
    const nothing = { rows: 0, sent: 0, taken: 0, rejected: 0, conflicts: 0 };
    return [{ id: await fresh('importJob'), body: { at_file: 0, at_row: 0, ...nothing } }];
  },
  tailRecords: ({ tenant }) => [
    { query: { tenant, since: '2000-01-01T00:00:00Z', follow: 'false' } },
  ],
  listDays: ({ tenant }) => [{ query: { tenant } }],
  getFacts: ({ tenant }) => [{ query: { tenant } }],
  getFields: ({ tenant }) => [{ query: { tenant } }, { query: { tenant, against: 'all' } }],

  createTag: ({ tenant }) => {
    const tag = { tenant, dataset: 'training', from: '2020-03-01', to: '2020-03-01' };
    return [{ body: tag }, { body: { ...tag, to: '2020-03-02', dry_run: true }, audit: '(tries)' }];
  },
  createVersion: ({ tenant }) => [{ body: { tenant, dataset: 'training', name: 'by a call' } }],
  diffVersions: async ({ fresh }) => {
    const id = await fresh('version');
    return [{ id, query: { to: id } }];
  },

  estimateExport: ({ tenant }) => [{ query: { tenant } }],
  inferSchema: ({ tenant }) => [{ query: { tenant } }],
  previewTemplate: ({ tenant }) => [{ body: { tenant, template: { id: '{{event_id}}' } } }],
  previewExport: ({ tenant }) => [{ body: { tenant, format: 'csv' } }],
  exportCsv: exportCalls,
  exportNdjson: exportCalls,
  exportParquet: exportCalls,
  exportBundle: ({ tenant, things }) => [{ body: { tenant, version: things.version } }],
  downloadExport: async ({ fresh }) => [{ as: 'nobody', id: await fresh('link') }],
  getExport: ({ things }) => [{ id: things.export }],
  cancelExport: async ({ fresh, complete }) => [
    { id: await complete(await fresh('export')), audit: 'export.remove' },
  ],

  createSchedule: ({ tenant }) => [
    { body: { tenant, format: 'csv', cron: '0 2 * * *', to: `${deliveries}/by-a-call` } },
  ],
  changeSchedule: async ({ fresh }) => [{ id: await fresh('schedule'), body: { enabled: false } }],
  runSchedule: async ({ fresh }) => [{ id: await fresh('schedule') }],
  deleteSchedule: async ({ fresh }) => [{ id: await fresh('schedule') }],

  putPolicy: ({ tenant }) => [{ id: tenant, body: { hot_days: 5 } }],
  deletePolicy: async ({ fresh }) => [{ id: await fresh('policy') }],
  startRun: ({ tenant }) => [{ body: { tenant, before: '1990-01-01' } }],
  removeOrphans: () => [{ body: { object_keys: ['records/tenant=none/x.parquet'] } }],
  adoptOrphan: async ({ fresh }) => [{ body: { object_key: await fresh('orphan') } }],
  forgetSegment: async ({ fresh }) => [{ body: { object_key: await fresh('lostSegment') } }],
  startVerification: ({ tenant }) => [{ body: { tenant } }],
  planImport: ({ tenant }) => [
    { body: { tenant, leaves: [{ store: 'IMPORTED', days: ['2001-03-01'] }] } },
  ],
  importDays: async ({ tenant }) => [
    {
      query: { tenant },
      body: await typedRowOf(tenant),
      headers: { 'content-type': 'application/vnd.apache.parquet' },
    },
  ],
  planErasure: ({ tenant }) => [{ body: { tenant, event_ids: ['e0'] } }],
  eraseRecords: ({ tenant }) => [
    { body: { tenant, event_ids: ['e0'], dry_run: true }, audit: '(tries)' },
    { body: { tenant, event_ids: ['e9'] } },
  ],

  createEndpoint: ({ tenant }) => [{ body: { tenant, url: 'http://127.0.0.1:9/new' } }],
  changeEndpoint: async ({ fresh }) => [{ id: await fresh('endpoint'), body: { enabled: false } }],
  discardBacklog: async ({ fresh }) => [{ id: await fresh('disabledEndpoint') }],
  pollDeliveries: async ({ fresh }) => [{ id: await fresh('polledEndpoint') }],
  skipHead: async ({ fresh }) => [{ id: await fresh('blockedEndpoint'), body: { key: 'k' } }],
  eraseIncident: async ({ fresh }) => [{ id: await fresh('incident') }],
  testFilter: ({ tenant }) => [
    { body: { tenant, where: 'a = 1' } },
    { body: { tenant, incident: { type: 'incident.created', data: {} } } },
  ],
  reportIncident: ({ tenant }) => {
    const body = { tenant, type: 'incident.created', data: {} };
    const headers = { 'content-type': 'application/x-ndjson' };
    return [{ body }, { body: `${JSON.stringify(body)}\n`, headers, foreign: 'rejected' }];
  },
  listDeadLetters: () => [{ query: { status: 'abandoned' } }],
  listDeadLetterGroups: () => [{ query: { status: 'abandoned', include: 'hours' } }],
  listEndpoints: () => [{ query: { include: 'hours' } }],
  // It finds nothing to retry: other calls need the dead letters.
  retryDeadLetters: ({ tenant }) => [
    { body: { tenant, failure_class: 'dns' } },
    { body: { tenant, dry_run: true }, audit: '(tries)' },
  ],
  replayEndpoint: async ({ fresh }) => [
    { id: await fresh('endpoint'), body: { since: '2026-03-05T00:00:00Z' } },
    { body: { since: '2026-03-05T00:00:00Z', dry_run: true }, audit: '(tries)' },
  ],
  changeReplay: async ({ fresh }) => [{ id: await fresh('replay'), body: { state: 'paused' } }],
  // A session need not confirm for a preview: see sessions.db.test.ts.
  purgeDeadLetters: ({ tenant }) => [{ body: { tenant, failure_class: 'dns' } }],
  setEventType: () => [{ body: { sample: { score: 1 } } }],
  createNotifyTarget: () => [{ body: { kind: 'webhook', url: 'http://127.0.0.1:9/notices' } }],
  tryNotifyTarget: () => [{ body: { kind: 'webhook', url: 'http://127.0.0.1:9/notices' } }],
  changeNotifyTarget: () => [{ body: { enabled: false } }],
  changeRetryJob: async ({ fresh }) => [{ id: await fresh('retryJob'), body: { state: 'paused' } }],
  changeBulkJob: async ({ fresh }) => [{ id: await fresh('retryJob'), body: { state: 'paused' } }],
};

/** The headers by which the portal shows its session. */
export function portalHeaders(cookie: string) {
  return { cookie, [portalHeader]: '1' };
}

function exportCalls({ tenant }: MatrixTenant): readonly RouteCall[] {
  return [
    { body: { tenant } },
    { body: { tenant, delivery: 'link' }, audit: 'export.link' },
    {
      body: { tenant },
      headers: { prefer: 'respond-async' },
      foreign: '400',
      audit: 'export.create',
    },
  ];
}

/** A file of Parquet with a new record of a tenant, on a day of its own. */
async function typedRowOf(tenant: string): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-matrix-'));
  const path = join(dir, 'typed.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const texts = ['kind', 'source', 'model', 'confidence'].map((name) => `null::varchar as ${name}`);
  await connection.run(`copy (
    select '${tenant}' as tenant, 'IMPORTED' as store, 'e' as event_id, ${texts.join(', ')},
      ('2001-03-01'::date + (random() * 5000)::int)::timestamptz as occurred_at, {'n': 1} as keys
    ) to '${path}' (format parquet)`);
  connection.closeSync();
  instance.closeSync();
  const bytes = await readFile(path);
  await rm(dir, { recursive: true });
  return bytes;
}
