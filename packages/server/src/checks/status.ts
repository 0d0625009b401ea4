import type { Actor } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { StoreState } from '../kernel/values.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { newestMigration } from '../platform/postgres/migrate.ts';
import { checksContract, type Status } from './contract.ts';
import { checks, examine } from './examine.ts';
import type { Look } from './look.ts';
import { readDatabase } from './queries.ts';

/** The process that answers. */
export type Answering = {
  readonly processId: string;
  readonly version: string;
  readonly store: () => { location: string; state: StoreState };
  readonly look: () => Look;
  readonly clock: Clock;
};

/** Adds the routes that tell how the service itself is. */
export function addStatusRoutes(http: HttpServer, db: Database, answering: Answering): void {
  const now = () => new Date(answering.clock()).toISOString();
  http.route(checksContract.getStatus, async ({ actor }) => {
    refuseLimited(actor);
    return { at: now(), ...(await readStatus(db, answering)) };
  });
  http.route(checksContract.getExamination, async ({ actor, reply }) => {
    refuseLimited(actor);
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    return { at: now(), findings: await examine(checks, answering.look(), gone.signal) };
  });
}

/** Throws 403 `scope_missing` for a token that is limited to tenants. */
function refuseLimited({ tenants }: Pick<Actor, 'tenants'>): void {
  if (tenants === null) return;
  throw new AppError('scope_missing', {
    detail: 'A token limited to tenants cannot ask how the service is, which is one for all.',
  });
}

/** Reads the processes and what they stand on, and makes the checks that read next to nothing. */
async function readStatus(
  db: Queryable,
  { processId, version, store, ...answering }: Answering,
): Promise<Omit<Status, 'at'>> {
  const look = answering.look();
  const findings = await examine(
    checks.filter(({ isQuick }) => isQuick),
    look,
  );
  return {
    process_id: processId,
    version,
    database: { ...(await readDatabase(db)), known_migration: await newestMigration() },
    store: store(),
    processes: [...(await look.processes())],
    slow_statements: look.slowStatements().map(({ text, count, totalMillis, maxMillis }) => ({
      ...{ text, count, total_ms: Math.round(totalMillis), max_ms: Math.round(maxMillis) },
    })),
    findings: findings.filter(({ severity }) => severity !== 'ok'),
  };
}
