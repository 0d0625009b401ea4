import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { parquetType } from '../values.ts';

const service = useTestService();

const countUploads = async () => {
  const names = await readdir(service.dataDir, { recursive: true });
  return names.filter((name) => /upload_\w+\.parquet$/.test(name)).length;
};

test('a caller has eight uploads under way, and the next one is told to come later', async () => {
  const path = '/enrichment/imports?tenant=TX';
  const headers = { 'content-type': parquetType };
  const send = () => service.call('POST', path, { headers, body: 'no Parquet' });
  expect((await send()).json.code).toBe('upload_invalid');
  const begun = Array.from({ length: 8 }, () => {
    const authorization = `Bearer ${service.adminToken}`;
    const options = { method: 'POST', headers: { ...headers, authorization } };
    const upload = request(`${service.url}/api/v1${path}`, options).on('error', () => {});
    upload.write('PAR1');
    return upload;
  });
  await expect.poll(countUploads).toBe(8);
  const { status, json } = await send();
  expect([status, json.code]).toEqual([429, 'ingest_busy']);
  for (const upload of begun) upload.destroy();
  await expect.poll(async () => (await send()).json.code).toBe('upload_invalid');
});
