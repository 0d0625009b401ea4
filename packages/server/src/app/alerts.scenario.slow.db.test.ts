import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { startDatabaseProxy } from '../../test/database-proxy.ts';
import { startOwnPostgres } from '../../test/own-postgres.ts';
import { evaluate, labelsOf, type Scrape, selectorsOf } from '../../test/promql.ts';
import { answer, startReceiver } from '../../test/receiver.ts';
import { readExposition, type Series } from '../../test/scrape.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { createLog, type Service, startService } from '../app.ts';
import { loadSettings } from '../config/settings.ts';
import { readPanels, readRules } from './testing/operations-files.ts';

const rules = await readRules();
const panels = await readPanels();
/** All series that were ever scraped, for the names and labels that the files may use. */
const seen = new Map<string, Series>();
const states = new Map<string, Set<'silent' | 'firing'>>();

const patient = { timeout: 120_000, interval: 100 };
const store = join(await mkdtemp(join(tmpdir(), 'svcctl-alerts-')), 'store');
const common = {
  SVC_BLOB_URL: pathToFileURL(store).href,
  SVC_SECRET_KEY: 'of-all-processes-of-the-test-0001',
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_COLD_GRACE_SECONDS: '0',
  SVC_METRICS_CACHE_SECONDS: '0',
  SVC_DATABASE_CONNECTIONS: '6',
  SVC_SHUTDOWN_SECONDS: '5',
};
const db = await createTestDatabase();
const proxy = await startDatabaseProxy(db.url);
const receiver = await startReceiver();
let api: TestService;
let worker: Service | undefined;

beforeAll(async () => {
  api = await startTestService(
    { ...common, DATABASE_URL: proxy.url, SVC_ROLES: 'api' },
    undefined,
    { waits: { scrapeMillis: 2000, scrapeTokenMillis: 500 } },
  );
});
afterAll(async () => {
  await worker?.close();
  await api.stop();
  await receiver.close();
  await proxy.close();
  await db.drop();
  await rm(dirname(store), { recursive: true, force: true });
});

/** Scrapes a process as Prometheus does: with the labels of the target, and `up`. */
async function scrape(url = api.url, token = api.adminToken): Promise<Scrape> {
  const target = { job: 'svcctl', instance: new URL(url).host };
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/metrics`, { headers }).catch(() => undefined);
  const told = response?.ok ? readExposition(await response.text()) : [];
  const up = { name: 'up', labels: {}, value: Number(response?.ok ?? false) };
  const series = [...told, up].map((each) => ({ ...each, labels: { ...each.labels, ...target } }));
  for (const each of series) seen.set(`${each.name} ${JSON.stringify(each.labels)}`, each);
  return { at: Date.now() / 1000, series };
}

/** Whether a rule fires; `change` replaces its threshold by one that this machine can reach. */
function isFiring(alert: string, scrapes: readonly Scrape[], change?: [string, string]): boolean {
  const rule = rules.find((each) => each.alert === alert);
  if (rule === undefined) throw new Error(`there is no alert ${alert}`);
  const expr = change === undefined ? rule.expr : rule.expr.replace(...change);
  if (change !== undefined) expect(expr).not.toBe(rule.expr);
  const value = evaluate(expr, scrapes);
  const fires = typeof value !== 'number' && value.length > 0;
  states.set(alert, (states.get(alert) ?? new Set()).add(fires ? 'firing' : 'silent'));
  return fires;
}

/** Waits until these rules fire, or until none of them does. */
async function until(what: 'firing' | 'silent', ...alerts: string[]): Promise<void> {
  await expect
    .poll(async () => {
      const scrapes = [await scrape()];
      return alerts.filter((alert) => isFiring(alert, scrapes) === (what === 'firing')).sort();
    }, patient)
    .toEqual(alerts.toSorted());
}

/** All alerts but that of the disk, of which nobody knows how full it is here. */
const all = () =>
  rules.map(({ alert }) => alert).filter((alert) => alert !== 'SvcctlDiskNearlyFull');

async function post(path: string, body: object, headers = {}) {
  const { status, json, text } = await api.call('POST', path, { body, headers });
  expect(status, text).toBeLessThan(300);
  return json;
}
const endpointOf = (tenant: string, more = {}) =>
  post('/webhook/endpoints', {
    tenant,
    url: receiver.url(`/${tenant}`),
    event_types: ['*'],
    ...more,
  });
const aRecord = { store: 'S', event_id: 'e', occurred_at: '2001-03-01T00:00:00Z', enrichment: {} };
const storeOne = (tenant: string) =>
  post('/enrichment/records', { records: [{ ...aRecord, tenant }] });
const report = (tenant: string) =>
  post('/incidents', { tenant, type: 'incident.created', data: {} });

async function runToEnd(): Promise<void> {
  const { id } = await post('/retention/run', {});
  const read = async () => (await api.call('GET', `/retention/runs/${id}`)).json.finished_at;
  await expect.poll(read, patient).not.toBeNull();
}

describe('the alerts', { timeout: 120_000 }, () => {
  test('are silent while nothing is wrong, but for what is missing', async () => {
    await until('firing', 'SvcctlNoDrainer');
    await until('silent', ...all().filter((alert) => alert !== 'SvcctlNoDrainer'));
  });

  test('fire for what waits and nobody does', async () => {
    await endpointOf('late');
    await report('late');
    await storeOne('T');
    await post('/exports/csv', { tenant: 'T' }, { prefer: 'respond-async' });
    await post('/enrichment/tags', { tenant: 'T', dataset: 'training' });
    await post('/enrichment/dataset-versions', { tenant: 'T', dataset: 'training', name: 'v' });
    await post('/retention/run', {});
    await db.query(sql`
      insert into audit_copies (location, failing_since, error, leased_until)
      values ('s3:', now(), 'no', now())`);
    await db.query(sql`update deliveries set next_attempt_at = now() - interval '1 hour'`);
    await db.query(sql`update incidents set created_at = now() - interval '3 days'`);
    await db.query(sql`update exports set created_at = now() - interval '2 hours'`);
    await db.query(sql`update dataset_versions set created_at = now() - interval '7 hours'`);
    await db.query(sql`update retention_runs set requested_at = now() - interval '2 hours'`);
    await until(
      'firing',
      ...['SvcctlDeliveriesLate', 'SvcctlRunWaits', 'SvcctlExportsWait'],
      ...['SvcctlVersionsWait', 'SvcctlBackupOverdue', 'SvcctlAuditUncopied'],
    );
  });

  test('fire when a run that is under way does nothing for an hour', async () => {
    await db.query(sql`update retention_runs set state = 'running', started_at = now()`);
    await post('/retention/verify', {});
    await db.query(sql`update verifications set state = 'running', started_at = now()`);
    await expect
      .poll(async () => {
        const first = await scrape();
        return isFiring('SvcctlRunFrozen', [first, { ...(await scrape()), at: first.at + 3600 }]);
      }, patient)
      .toBe(true);
    await db.query(sql`update retention_runs set waiting_since = now(), waiting_for = 'the store'`);
    await until('firing', 'SvcctlStoreWaitedFor');
  });

  test('fall silent when somebody does it', async () => {
    await db.query(sql`delete from audit_copies`);
    await db.query(sql`
      insert into backups (id, place, is_incremental, taken_at, finished_at, records, size_bytes)
      values ('bak_1', '/b', false, now(), now(), 1, 1)`);
    const settings = loadSettings({
      ...common,
      DATABASE_URL: db.url,
      SVC_DATA_DIR: join(dirname(store), 'worker'),
      SVC_PORT: '0',
      SVC_ROLES: 'drainer,retention,exports',
    });
    worker = await startService(settings, createLog('silent'));
    await until('silent', ...all());
  });

  test('fire for receivers that fail, and what was given up', async () => {
    receiver.behave(({ path }) => answer(path === '/gone' ? 410 : 500));
    await Promise.all([endpointOf('gone'), endpointOf('given-up', { max_attempts: 1 })]);
    const { id } = await endpointOf('failing');
    await Promise.all([report('gone'), report('given-up')]);
    for (let n = 0; n < 25; n += 1) await report('failing');
    await until(
      'firing',
      ...['SvcctlEndpointsFailing', 'SvcctlEndpointsGone', 'SvcctlDeliveriesAbandoned'],
    );
    await scrape(worker?.url);
    await expect
      .poll(
        async () => isFiring('SvcctlDeadLettersPileUp', [await scrape()], ['1000', '10']),
        patient,
      )
      .toBe(true);
    await api.call('DELETE', `/webhook/endpoints/${id}`);
  });

  test('fire for moves and runs that failed, and that are late', async () => {
    await storeOne('U');
    const inTheWay = join(store, 'records', 'tenant=U');
    await mkdir(dirname(inTheWay), { recursive: true });
    await writeFile(inTheWay, '');
    await runToEnd();
    await until('firing', 'SvcctlRunFailed');
    // The next run would go on with the move.
    await db.query(sql`
      update moves set planned_at = now() - interval '7 hours' where state not in ('removed', 'switched')`);
    await until('firing', 'SvcctlMoveUnfinished');
    await db.query(sql`
      update moves set state = 'failed', failed_at = now(), failed_in = state, error_code = 'segment_damaged'
      where state not in ('removed', 'switched')`);
    await until('firing', 'SvcctlMovesFailed');
    await rm(inTheWay);
    await runToEnd();
    await until('silent', 'SvcctlMovesFailed', 'SvcctlRunFailed', 'SvcctlMoveUnfinished');
    await db.query(sql`update retention_runs set finished_at = now() - interval '3 days'`);
    await until('firing', 'SvcctlRunOverdue');
  });

  test('fire for a disk that is nearly full, from where OVERVIEW tells it', async () => {
    const share = String(loadSettings({}).notifyDiskPercent / 100);
    const firing = async () => {
      const now = [await scrape()];
      return ['0', '1.1'].map((least) => isFiring('SvcctlDiskNearlyFull', now, [share, least]));
    };
    await expect.poll(firing, patient).toEqual([false, true]);
  });

  test('fire for a table that somebody locks, and for a database that hangs', async () => {
    const whileLocked = (table: string, work: () => Promise<void>) =>
      db.withConnection(async ({ client }) => {
        await client.query(`begin; lock table ${table} in access exclusive mode`);
        await work();
        await client.query('rollback');
      });
    await whileLocked('exports', () => until('firing', 'SvcctlFiguresMissing'));
    const calls: Promise<unknown>[] = [];
    await whileLocked('webhook_endpoints', async () => {
      for (let n = 0; n < 20; n += 1) calls.push(api.call('GET', '/webhook/endpoints'));
      await until('firing', 'SvcctlConnectionsExhausted');
    });
    await Promise.all(calls);
    proxy.freeze({ newcomers: true });
    await until('firing', 'SvcctlDatabaseAway', 'SvcctlProcessNotReady');
    proxy.thaw();
    await until('silent', 'SvcctlDatabaseAway', 'SvcctlProcessNotReady', 'SvcctlFiguresMissing');
  });

  test('fire for a database that only reads, and name the standby that writes wait for', async () => {
    const postgres = await startOwnPostgres();
    const own = await startTestService({
      SVC_METRICS_CACHE_SECONDS: '0',
      DATABASE_URL: postgres.url,
      SVC_ROLES: 'api',
    });
    const both = ['SvcctlDatabaseReadOnly', 'SvcctlStandbyMissing'];
    const firing = async () => {
      const scrapes = [await scrape(own.url, own.adminToken)];
      return both.filter((alert) => isFiring(alert, scrapes));
    };
    expect(await firing()).toEqual([]);
    await postgres.waitForStandbys('nas');
    await expect.poll(firing, patient).toEqual(['SvcctlStandbyMissing']);
    const standbys = [...seen.values()].filter(({ name }) => name === 'svcctl_standby_missing');
    expect(standbys).toMatchObject([{ labels: { standby: 'nas' }, value: 1 }]);
    await postgres.waitForStandbys('');
    await expect.poll(firing, patient).toEqual([]);
    await postgres.setReadOnly(true);
    await expect.poll(firing, patient).toEqual(['SvcctlDatabaseReadOnly']);
    await postgres.setReadOnly(false);
    await own.stop();
    await postgres.stop();
  });

  test('fire for requests that fail, and for a process that is gone', async () => {
    const before = await scrape();
    expect(isFiring('SvcctlErrors', [before, { ...(await scrape()), at: before.at + 60 }])).toBe(
      false,
    );
    await proxy.close();
    const fail = async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => api.call('GET', '/me')));
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    };
    await fail();
    const first = await scrape();
    await fail();
    expect(isFiring('SvcctlErrors', [first, { ...(await scrape()), at: first.at + 60 }])).toBe(
      true,
    );
    const { url = '' } = worker ?? {};
    await worker?.close();
    worker = undefined;
    expect(isFiring('SvcctlProcessDown', [await scrape(url)])).toBe(true);
  });

  test('that are written by hand have all been seen silent and firing', () => {
    // Those of checks are generated in one form, and what makes each check find something is tested beside it.
    const byHand = rules.filter(({ expr }) => !expr.includes('svcctl_trouble{'));
    const unseen = byHand.filter(({ alert }) => states.get(alert)?.size !== 2);
    expect(unseen.map(({ alert }) => alert)).toEqual([]);
  });
});

describe('the files', () => {
  /** Grafana puts these in before it asks. */
  const plain = (expr: string) =>
    expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|instance)/g, '.*');

  function faultsOf(expr: string, told: ReadonlyMap<string, readonly Series[]>): string[] {
    const known = new Set([...seen.values()].flatMap(({ labels }) => Object.keys(labels)));
    const faults = labelsOf(expr)
      .filter((label) => !known.has(label))
      .map((l) => `no label ${l}`);
    for (const { name, matchers } of selectorsOf(expr)) {
      const series = told.get(name);
      if (series === undefined) faults.push(`no metric ${name}`);
      for (const { label, op, text, fits } of matchers) {
        const values = (series ?? []).map(({ labels }) => labels[label]);
        if (values.every((value) => value === undefined)) faults.push(`${name} has no ${label}`);
        const isSought = !op.startsWith('!') && label !== 'instance';
        if (isSought && !values.some((value) => fits(value ?? ''))) {
          faults.push(`${name} never has ${label}${op}"${text}"`);
        }
      }
    }
    return faults;
  }

  test('name only metrics and labels that a service tells', () => {
    const told = new Map<string, Series[]>();
    for (const each of seen.values()) told.set(each.name, [...(told.get(each.name) ?? []), each]);
    const faults = rules.flatMap(({ alert, expr }) =>
      faultsOf(expr, told).map((fault) => `${alert}: ${fault}`),
    );
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) {
        faults.push(...faultsOf(plain(expr), told).map((fault) => `panel ${title}: ${fault}`));
      }
    }
    expect(faults).toEqual([]);
  });

  test('show every metric of ours on the dashboard, in panels that do not overlap', () => {
    const exprs = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => plain(expr)));
    const shown = new Set(exprs.flatMap((expr) => selectorsOf(expr).map(({ name }) => name)));
    const own = new Set(
      [...seen.values()].map(({ name }) => name).filter((name) => name.startsWith('svcctl_')),
    );
    const families = [...own].map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    const isShown = (family: string) =>
      [family, `${family}_bucket`, `${family}_count`].some((name) => shown.has(name));
    expect([...new Set(families)].filter((family) => !isShown(family))).toEqual([]);
    const ids = panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
    expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
      ...['API', 'Ingest', 'Queues', 'Endpoints', 'Tiers and retention', 'Exports', 'Database'],
      'Process',
    ]);
    for (const { type, targets = [] } of panels) {
      expect(['row', 'timeseries', 'stat']).toContain(type);
      expect(targets.length > 0).toBe(type !== 'row');
    }
  });
});
