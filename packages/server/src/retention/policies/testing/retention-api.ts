import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { use } from '../../../../test/use.ts';
import {
  addAccessRoutes,
  createAudit,
  createAuthenticate,
  createSignInGuard,
  createToken,
  type NewToken,
} from '../../../access/index.ts';
import { systemClock } from '../../../kernel/clock.ts';
import { usualLimits } from '../../../platform/http/connections.ts';
import { createHttpServer } from '../../../platform/http/server.ts';
import { createStoreFence } from '../../../platform/objects/fence.ts';
import { createFileStore } from '../../../platform/objects/file-system.ts';
import { createStoreWatch } from '../../../platform/objects/store-watch.ts';
import { addRetentionRoutes } from '../../index.ts';

type ApiAnswer = {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
};

type RetentionApi = {
  readonly db: TestDatabase;
  /** How often a route said that there is work. */
  readonly pokes: () => number;
  /** As admin, unless another token or none is given. */
  call(
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    options?: { token?: string | null; body?: unknown },
  ): Promise<ApiAnswer>;
  /** All rows of a list, page by page. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  walk(path: string, limit: number, token?: string): Promise<any[]>;
  makeToken(request: Partial<NewToken>): Promise<string>;
  close(): Promise<void>;
};

/** The routes of retention and access on a database of their own, without the rest of the service. */
async function startRetentionApi(): Promise<RetentionApi> {
  const db = await createTestDatabase();
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-retention-'));
  const key = randomBytes(32);
  const log = pino({ level: 'silent' });
  let pokes = 0;
  const http = createHttpServer({
    log,
    authenticate: createAuthenticate(db, { idleSeconds: 0, vouchDays: 0 }),
    admit: () => {},
    jsonBodyMaxBytes: 2 ** 20,
    connections: usualLimits,
    assertReady: () => {},
  });
  const poke = () => void pokes++;
  const audit = createAudit();
  const guard = createSignInGuard(db, { clock: systemClock, log });
  addAccessRoutes(http, db, {
    clock: systemClock,
    cursorKey: () => key,
    audit,
    guard,
    idleSeconds: 0,
    vouchDays: 0,
    people: null,
    personTokenDays: 0,
    fourEyes: [],
    isFramed: false,
    sealer: () => ({ keys: [{ id: '01', key }], dataDir: dir }),
  });
  const objects = createFileStore(dir);
  const fence = createStoreFence({ db, store: objects, isKnown: async () => true });
  const watch = createStoreWatch({ store: objects, fence, log });
  const store = { fence, watch, store: objects };
  addRetentionRoutes(http, db, { cursorKey: () => key, audit, log, store, poke, graceSeconds: 0 });
  const makeToken = async (request: Partial<NewToken>) => {
    const maker = { creator: null, nowMillis: systemClock() };
    return (await createToken(db, { name: 'test', ...request }, maker)).token;
  };
  const adminToken = await makeToken({ name: 'boss', preset: 'admin' });

  const call: RetentionApi['call'] = async (method, path, options = {}) => {
    const { token = adminToken, body } = options;
    const answer = await http.fastify.inject({
      method,
      url: `/api/v1${path}`,
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { payload: body as object }),
    });
    return {
      status: answer.statusCode,
      json: answer.body === '' ? undefined : JSON.parse(answer.body),
    };
  };
  return {
    db,
    pokes: () => pokes,
    call,
    async walk(path, limit, token = adminToken) {
      const rows: unknown[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const url = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${query}`;
        const { status, json } = await call('GET', url, { token });
        if (status !== 200) throw new Error(`${url} answered ${JSON.stringify(json)}`);
        rows.push(...json.data);
        cursor = json.next_cursor;
      }
      return rows;
    },
    makeToken,
    async close() {
      await http.fastify.close();
      await db.drop();
      await rm(dir, { recursive: true });
    },
  };
}

/** Such an API for all tests of a file. */
export const useRetentionApi = (): RetentionApi => use(startRetentionApi, (api) => api.close());
