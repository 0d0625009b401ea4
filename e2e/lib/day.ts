import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startCitus } from '../../packages/server/test/citus.ts';
import { readCsv } from '../../packages/server/test/csv.ts';
import { askDuckDb } from './exports.ts';
import { createInstallation, type Environment, type Service } from './installation.ts';
import { type Filters, getPage, idsOf, walkPages } from './walk.ts';
import { webhookSettings } from './webhooks.ts';

export type Format = 'csv' | 'ndjson' | 'parquet';

/** An installation on a database of its own: on a plain server, or on a coordinator that can become a cluster. */
export type Day = {
  readonly service: Service;
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** Whether there is a cluster to become. */
  readonly isCitus: boolean;
  /** Makes the coordinator know its workers. */
  joinWorkers(): Promise<void>;
  /** The errors that the coordinator of the cluster has logged, with their statements; none on a plain server. */
  listErrors(): Promise<string[]>;
  /** Runs another command of the program to its end. */
  run(...args: string[]): Promise<{ code: number | null; output: string }>;
  /** Ends the service, and starts another one with these settings. */
  restart(more?: Environment): Promise<void>;
  /** Calls a path of the API, and expects this status. */
  // biome-ignore lint/suspicious/noExplicitAny: checks look into answers of every shape
  call(method: string, path: string, body?: unknown, status?: number): Promise<any>;
  /** The sum of the counts on a page of the tree. */
  countOf(query: string): Promise<number>;
  /** The event_ids on all pages, in their order. */
  listIds(filters: Filters): Promise<string[]>;
  /** A streamed export: what its head says, and the rows that other programs than ours count in the file. */
  download(format: Format, body: object): Promise<{ rowCount: number; rows: number; file: Buffer }>;
  countRows(format: Format, file: Buffer): Promise<number>;
  end(): Promise<void>;
};

/** Begins with an empty database: of a Citus cluster, if that is what the tests run on. */
export async function startDay(): Promise<Day> {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-day-'));
  const pgConfig = process.env.SVC_TEST_CITUS;
  const citus = pgConfig === undefined ? null : await startCitus(folder, pgConfig);
  const installation = await createInstallation(citus === null ? 'database' : 'nothing');
  const databaseUrl = citus?.coordinator.url ?? (await installation.postgresUrl());
  const env = { ...webhookSettings, DATABASE_URL: databaseUrl, SVC_COLD_GRACE_SECONDS: '0' };
  let service = await installation.start(env);

  const countRows = async (format: Format, file: Buffer) => {
    if (format === 'csv') return readCsv(file.toString()).length - 1;
    if (format === 'ndjson') return file.toString().split('\n').length - 1;
    const path = join(folder, 'rows.parquet');
    await writeFile(path, file);
    const [row] = await askDuckDb(`select count(*)::int as count from read_parquet('${path}')`);
    return Number(row?.count);
  };
  return {
    get service() {
      return service;
    },
    databaseUrl,
    dataDir: installation.dataDir,
    isCitus: citus !== null,
    joinWorkers: async () => citus?.join(),
    async listErrors() {
      if (citus === null) return [];
      const log = await readFile(join(folder, 'coordinator', 'postgres.log'), 'utf8');
      return log.split('\n').filter((line) => /\b(ERROR|FATAL|PANIC):/.test(line));
    },
    run: (...args) => installation.run(args, env),
    async restart(more = {}) {
      expect(await service.stop()).toEqual({ code: 0, signal: null });
      service = await installation.start({ ...env, ...more });
    },
    async call(method, path, body, status = 200) {
      const answered = await service.call(method, path, { body });
      expect(answered.status, `${method} ${path}: ${answered.text}`).toBe(status);
      return answered.json;
    },
    async countOf(query) {
      const { json } = await service.call('GET', `/enrichment/datasets?${query}`);
      return json.data.reduce((sum: number, row: { count: number }) => sum + row.count, 0);
    },
    async listIds(filters) {
      return idsOf(await walkPages(service, filters, await getPage(service, filters)));
    },
    async download(format, body) {
      const response = await fetch(`${service.url}/api/v1/exports/${format}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const file = Buffer.from(await response.arrayBuffer());
      expect(response.status, file.toString('utf8', 0, 500)).toBe(200);
      const rowCount = Number(response.headers.get('x-record-count'));
      return { rowCount, rows: await countRows(format, file), file };
    },
    countRows,
    async end() {
      await installation.remove();
      await citus?.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
