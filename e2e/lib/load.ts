import { readCsv } from '../../packages/server/test/csv.ts';
import { type Answer, openExport } from './api.ts';
import type { Service } from './installation.ts';
import { makeRecord } from './records.ts';

/** Clients that write, page and export without a pause, and note the answers. The service needs SVC_RATE_LIMIT=0. */
export type Load = {
  counts(): { acknowledged: number; pages: number; exports: number; unavailable: number };
  /** Wrong answers and exports: those that are neither correct nor a 503 that says when to come back. */
  faults(): readonly string[];
  /** The event_ids of all records that the service has acknowledged. */
  acknowledgedIds(): readonly string[];
  /** Stops the clients; waits until their running requests have ended. */
  stop(): Promise<void>;
};

export function startLoad(service: Service): Load {
  const counts = { acknowledged: 0, pages: 0, exports: 0, unavailable: 0 };
  const faults: string[] = [];
  const ids: string[] = [];
  let isRunning = true;

  const judge = (what: string, answer: Answer): boolean => {
    if (answer.status === 200) return true;
    const type = answer.headers.get('content-type') ?? '';
    const isProper =
      answer.status === 503 &&
      type.includes('application/problem+json') &&
      Number(answer.headers.get('retry-after')) > 0;
    if (isProper) counts.unavailable += 1;
    else faults.push(`${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return false;
  };
  const repeat = async (what: string, work: () => Promise<void>) => {
    while (isRunning) {
      await work().catch((error: unknown) => faults.push(`${what}: ${String(error)}`));
    }
  };

  const write = (name: string, batchSize: number) => {
    let n = 0;
    return async () => {
      n += 1;
      const records = Array.from({ length: batchSize }, (_, i) =>
        makeRecord(`${name}-${n}-${i}`, i),
      );
      const answer = await service.call('POST', '/enrichment/records', { body: { records } });
      if (!judge('ingest', answer)) return;
      counts.acknowledged += 1;
      ids.push(...records.map((record) => record.event_id));
    };
  };
  const page = async () => {
    const answer = await service.call('GET', '/enrichment/records?tenant=TX&limit=100');
    if (judge('page', answer)) counts.pages += 1;
  };
  const exportAll = async () => {
    const download = await openExport(service, { tenant: 'TX', store: 'DFW' });
    if (download.response.statusCode !== 200) {
      const text = String(await download.readAll());
      const headers = new Headers(download.response.headers as Record<string, string>);
      judge('export', { status: download.response.statusCode ?? 0, headers, text, json: null });
      return;
    }
    // The download may break off, but then the client must be able to tell.
    const body = await download.readAll().catch(() => null);
    if (body === null) return;
    const rowCount = readCsv(body.toString()).length - 1;
    if (rowCount === download.rowCount) counts.exports += 1;
    else faults.push(`export: ${rowCount} rows of ${download.rowCount} in a body that looks whole`);
  };

  const clients = [
    repeat('ingest', write('a', 50)),
    repeat('ingest', write('b', 1000)),
    repeat('page', page),
    repeat('export', exportAll),
  ];
  return {
    counts: () => ({ ...counts }),
    faults: () => faults,
    acknowledgedIds: () => ids,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}
