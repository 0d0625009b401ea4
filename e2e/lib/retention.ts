import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { openExport } from './api.ts';
import type { Service } from './installation.ts';
import { waitFor } from './wait-for.ts';
import { getPage, idsOf, walkPages } from './walk.ts';

/** Everything that a client sees of a tenant, except in which tier it lies. */
export type View = { leaves: unknown[]; ids: string[]; rowCount: number; csvSha256: string };

/** Leaves with their digests, all pages, and the CSV. */
export async function viewTenant(service: Service, tenant: string): Promise<View> {
  const answer = await service.call(
    'GET',
    `/enrichment/datasets?tenant=${tenant}&include=days&limit=500`,
  );
  expect(answer.status, answer.text).toBe(200);
  const leaves = (answer.json.data as Record<string, unknown>[]).map(
    ({ tier: _tier, stored_bytes: _stored, ...leaf }) => leaf,
  );
  const filters = { tenant, limit: '500' };
  const pages = await walkPages(service, filters, await getPage(service, filters));
  const download = await openExport(service, { tenant });
  expect(download.response.statusCode).toBe(200);
  const csv = await download.readAll();
  return {
    leaves,
    ids: idsOf(pages),
    rowCount: download.rowCount,
    csvSha256: createHash('sha256').update(csv).digest('hex'),
  };
}

export type RunRow = { id: string; state: string; moved_count: number; failed_moves: number };

/** Asks for a run and waits for its end, which must be so. */
export async function runRetention(
  service: Service,
  request: Record<string, unknown> = {},
  wanted: Partial<RunRow> = { state: 'completed', failed_moves: 0 },
): Promise<RunRow> {
  const queued = await service.call('POST', '/retention/run', { body: request });
  expect(queued.status, queued.text).toBe(202);
  const run = await waitFor('the run to end', async () => {
    const answer = await service.call('GET', `/retention/runs/${queued.json.id}`);
    return answer.json.finished_at === null ? undefined : answer.json;
  });
  expect(run).toMatchObject(wanted);
  return run;
}

export type Report = { state: string; ok: boolean; problem_count: number; problems: unknown[] };

/** Asks for a verification of all there is and waits for its report. */
export async function verifyAll(service: Service): Promise<Report> {
  const queued = await service.call('POST', '/retention/verify', { body: {} });
  expect(queued.status, queued.text).toBe(202);
  return waitFor('the verification to end', async () => {
    const answer = await service.call('GET', `/retention/verify/${queued.json.id}`);
    return answer.json.finished_at === null ? undefined : answer.json;
  });
}
