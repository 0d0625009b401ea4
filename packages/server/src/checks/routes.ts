import type { Clock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { checksContract } from './contract.ts';
import { type Answering, readExamination, readStatus } from './read-status.ts';

/** Adds the routes that tell how the service itself is. */
export function addHealthRoutes(
  http: HttpServer,
  db: Database,
  { clock, ...answering }: Answering & { clock: Clock },
): void {
  http.route(checksContract.getStatus, async ({ actor }) => ({
    at: new Date(clock()).toISOString(),
    ...(await readStatus(db, actor, answering)),
  }));
  http.route(checksContract.getExamination, async ({ actor, reply }) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    return {
      at: new Date(clock()).toISOString(),
      findings: await readExamination(db, actor, { ...answering, signal: gone.signal }),
    };
  });
}
