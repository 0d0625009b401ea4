import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import type { Service } from './installation.ts';
import { waitFor } from './wait-for.ts';

export type Job = {
  id: string;
  state: string;
  rows_done: number;
  rows_total: number;
  sha256: string;
  digest: string;
  attempts: number;
  error: string | null;
};

/** Asks for an export as a job. */
export async function createJob(
  service: Service,
  format: 'csv' | 'ndjson' | 'parquet',
  body: Record<string, unknown>,
): Promise<Job> {
  const answer = await service.call('POST', `/exports/${format}`, {
    body,
    headers: { prefer: 'respond-async' },
  });
  expect(answer.status, answer.text).toBe(202);
  expect(answer.headers.get('location')).toContain(answer.json.id);
  return answer.json;
}

/** Waits until a job has ended, and fails unless it is completed. */
export async function untilCompleted(service: Service, id: string): Promise<Job> {
  const job = await waitFor('the export to end', async () => {
    const answer = await service.call('GET', `/exports/${id}`);
    return answer.json.finished_at === null ? undefined : (answer.json as Job);
  });
  expect(job).toMatchObject({ state: 'completed', error: null, rows_done: job.rows_total });
  return job;
}

/** The file of a job. */
export async function downloadFile(service: Service, id: string): Promise<Buffer> {
  const response = await fetch(`${service.url}/api/v1/exports/${id}/file`, {
    headers: { authorization: `Bearer ${service.token}` },
  });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** Freezes what is tagged, and waits until it is counted. */
export async function freezeVersion(service: Service, body: Record<string, unknown>) {
  const answer = await service.call('POST', '/enrichment/dataset-versions', { body });
  expect(answer.status, answer.text).toBe(201);
  return waitFor('the version to be counted', async () => {
    const { json } = await service.call('GET', `/enrichment/dataset-versions/${answer.json.id}`);
    return json.state === 'counting' ? undefined : json;
  });
}

/** Runs a statement in a DuckDB that is not the service's; answers its rows. */
export async function askDuckDb(statement: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run("set global timezone = 'UTC'");
    const reader = await connection.runAndReadAll(statement);
    return reader.getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
