import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { createLog, type Service, startService } from '../src/app.ts';
import { type Environment, loadSettings, usualWaits, type Waits } from '../src/config/settings.ts';
import { apiContract } from '../src/contract.ts';
import { statusesOf } from '../src/platform/http/openapi.ts';
import type { RunRow } from '../src/retention/contract.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { use } from './use.ts';

export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
};

export type TestService = Service & {
  readonly db: TestDatabase;
  readonly adminToken: string;
  readonly dataDir: string;
  /** Calls the API. A body that is not text or bytes is sent as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** The rows of all pages of a list. The path has a query. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  all(path: string, token?: string): Promise<any[]>;
  /** Asks for a run of retention and waits for its end, which may be a failure. */
  retain(body?: object): Promise<RunRow>;
  /** A token with these scopes, limited to tenants if given. */
  makeToken(request: Record<string, unknown>): Promise<{ id: string; token: string }>;
  /** Opens a console session, by the admin's token unless told otherwise; `headers` are those of its calls. */
  signIn(
    body?: object,
    headers?: Record<string, string>,
  ): Promise<{ answer: Answer; cookie: string; headers: { cookie: string } }>;
  stop(): Promise<void>;
};

export type CallOptions = {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

type TestServiceOptions = {
  /** Whose database, as it is now, the service gets a copy of. */
  original?: TestService;
  /** Waits that the test waits for to pass, and shortens. */
  waits?: Partial<Waits>;
};

/** The whole service in this process, on a free port and a database of its own. */
export async function startTestService(
  env: Environment = {},
  log = createLog('silent'),
  { original, waits = {} }: TestServiceOptions = {},
): Promise<TestService> {
  const db = await createTestDatabase(original?.db);
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-test-'));
  const settings = loadSettings({
    DATABASE_URL: db.url,
    SVC_DATA_DIR: dataDir,
    SVC_PORT: '0',
    // The usual time of day would move what a test has stored.
    SVC_RETENTION_SCHEDULE: 'off',
    // The disk of whoever runs the tests is not what they are about.
    SVC_NOTIFY_DISK_PERCENT: '0',
    ...env,
  });
  // What the planner knows of a table is what a test has told it; see postgres.ts.
  const ownWaits = { ...usualWaits, growthMillis: 86_400_000, ...waits };
  const service = await startService({ ...settings, waits: ownWaits }, log);
  const adminToken =
    original?.adminToken ?? (await readFile(service.adminTokenPath, 'utf8')).trim();
  const call = (method: string, path: string, options: CallOptions = {}) =>
    callApi(service.url, method, path, { token: adminToken, ...options });
  return {
    ...service,
    db,
    adminToken,
    dataDir,
    call,
    async all(path, token = adminToken) {
      const rows: unknown[] = [];
      for (let more: string | null = ''; more !== null; ) {
        const { status, text, json } = await call('GET', path + more, { token });
        if (status !== 200) throw new Error(text);
        rows.push(...json.data);
        more = json.next_cursor === null ? null : `&cursor=${json.next_cursor}`;
      }
      return rows;
    },
    async retain(body = {}) {
      const { status, text, json } = await call('POST', '/retention/run', { body });
      if (status !== 202) throw new Error(text);
      const read = async () => {
        const found = await call('GET', `/retention/runs/${json.id}`);
        const run: RunRow = found.json;
        return found.status === 200 && run.finished_at !== null && run;
      };
      return vi.waitUntil(read, { timeout: 120_000, interval: 20 });
    },
    async makeToken(request) {
      const answer = await call('POST', '/tokens', { body: { name: 'test', ...request } });
      if (answer.status !== 201) throw new Error(answer.text);
      return answer.json;
    },
    async signIn(body = { token: adminToken }, headers = {}) {
      const answer = await call('POST', '/session', { token: null, headers, body });
      const cookie = answer.headers.get('set-cookie') ?? '';
      return { answer, cookie, headers: { cookie: cookie.split(';')[0] ?? '' } };
    },
    async stop() {
      await service.close();
      await db.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Such a service for all tests of a file. */
export function useTestService(...given: Parameters<typeof startTestService>): TestService {
  return use(
    () => startTestService(...given),
    (service) => service.stop(),
  );
}

async function callApi(
  origin: string,
  method: string,
  path: string,
  options: CallOptions,
): Promise<Answer> {
  const { token, body, headers = {}, signal } = options;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(
    path.startsWith('/~') ? origin + path.slice(2) : `${origin}/api/v1${path}`,
    {
      method,
      headers: {
        ...(token === null || token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || isRaw ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    },
  );
  assertDocumented(method, path, response.status);
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

const documented = Object.values(apiContract).map((contract) => ({
  method: contract.method,
  path: new RegExp(`^${contract.path.replaceAll('.', '[.]').replace(/:\w+/g, '[^/]+')}$`),
  statuses: statusesOf(contract),
}));

/** Every status that a test sees is one that the API says it may answer. */
function assertDocumented(method: string, path: string, status: number): void {
  const [place = ''] = path.split('?');
  const found = documented.filter((each) => each.method === method && each.path.test(place));
  if (found.length === 0 || found.some(({ statuses }) => statuses.includes(status))) return;
  throw new Error(`${method} ${place} answered ${status}, which its contract does not have`);
}
