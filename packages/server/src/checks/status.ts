import { requireAllTenants } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import type { StoreState } from '../kernel/values.ts';
import { type HttpServer, untilGone } from '../platform/http/server.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { newestMigration } from '../platform/postgres/migrate.ts';
import type { Look } from './check.ts';
import { checksContract, type Status } from './contract.ts';
import { checks, examine } from './examine.ts';
import { readDatabase } from './queries.ts';

/** The process that answers. */
type Answering = {
  readonly processId: string;
  readonly version: string;
  readonly store: () => { location: string; state: StoreState };
  readonly look: () => Look;
  readonly clock: Clock;
};

const refusal = 'A token limited to tenants cannot ask how the service is, which is one for all.';

/** Adds the routes that tell how the service itself is. */
export function addStatusRoutes(http: HttpServer, db: Database, answering: Answering): void {
  const now = () => new Date(answering.clock()).toISOString();
  http.route(checksContract.getStatus, async ({ actor }) => {
    requireAllTenants(actor, refusal);
    return { at: now(), ...(await readStatus(db, answering)) };
  });
  http.route(checksContract.getExamination, async ({ actor, reply }) => {
    requireAllTenants(actor, refusal);
    return { at: now(), findings: await examine(checks, answering.look(), untilGone(reply)) };
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
    slow_statements: look
      .slowStatements()
      .map(({ text, count, totalMillis, maxMillis }) => ({
        text,
        count,
        total_ms: Math.round(totalMillis),
        max_ms: Math.round(maxMillis),
      })),
    findings: findings.filter(({ severity }) => severity !== 'ok'),
  };
}
