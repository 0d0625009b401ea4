import { expect, test } from 'vitest';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf } = prepareCli();

refusesUsage(api, [['exports schema --tenant TX --from 2026-03-01', '--to']]);

const answer = {
  columns: [
    { name: 'enrichment.model', field: 'model', type: 'string' },
    { name: 'origin', field: 'origin', type: { struct: [{ name: 'gate', type: 'bigint' }] } },
    { name: 'scores', field: 'scores', type: { list: { decimal: 3 } } },
  ],
  sampled: 10_000,
  count: 93_233,
  left_out: 2,
  misfits: { rows: 1200, fields: { scores: 3 } },
};

test('exports schema shows the columns with their types, and how many records told them', async () => {
  api.on('GET /exports/schema', json(answer));
  const { stdout, stderr } = await cli(['exports', 'schema', '--tenant', 'TX', '--kind', 'k'], {
    isTerminal: true,
  });
  expect(stdout).toMatch(/enrichment\.model +VARCHAR +model/);
  expect(stdout).toContain('STRUCT("gate" BIGINT)');
  expect(stdout).toContain('DECIMAL(38,3)[]');
  expect(stderr).toContain(
    '3 columns of fields, by a sample of 10,000 of 93,233 records; 2 fields left out; of 1,200 something fits none',
  );
  expect(api.requests.at(-1)?.query).toEqual({ tenant: 'TX', kind: 'k' });
});

test('exports schema looks a version up by its name', async () => {
  api.on('GET /exports/schema', json(answer));
  api.on(
    'GET /enrichment/dataset-versions',
    json({ data: [{ id: 'ver_1', name: 'q1' }], next_cursor: null }),
  );
  const words = ['exports', 'schema', '--tenant', 'TX', '--version', 'q1', '--json', 'left_out'];
  expect(await jsonOf(words)).toEqual({ left_out: 2 });
  expect(api.requests.at(-1)?.query).toEqual({ tenant: 'TX', version: 'ver_1' });
});

test('exports schema says so when there is no record', async () => {
  api.on('GET /exports/schema', json({ columns: [], sampled: 0, count: 0, left_out: 0 }));
  api.on('GET /enrichment/datasets', json({ data: [], next_cursor: null }));
  await ends(cli(['exports', 'schema', '--tenant', 'NONE']), 0, '', [/NONE/]);
});
