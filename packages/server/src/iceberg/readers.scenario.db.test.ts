import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { startS3 } from '../../test/s3.ts';
import { startTestService, type TestService, useTestService } from '../../test/service.ts';

// Programs that know nothing of us read the table: pyiceberg, and DuckDB with its extension for Iceberg.

const python = process.env.SVC_TEST_PYTHON ?? 'python3';
const script = fileURLToPath(new URL('testing/read-table.py', import.meta.url));
const service = useTestService({ SVC_ROLES: 'api,retention', SVC_COLD_GRACE_SECONDS: '600' });

const awkward = `É 50% "quoted" ’x’`;
const record = (tenant: string, n: number, day = '2020-02-28') => ({
  tenant,
  store: n % 2 === 0 ? 'DFW' : 'ORD',
  event_id: `e${n}`,
  kind: 'k',
  occurred_at: `${day}T12:00:00.${String(n).padStart(6, '0')}Z`,
  confidence: 0.5,
  enrichment: { n, text: 'é' },
});

/** All records that were stored so far. Each call brings what it stores to segments of its own. */
const stored: { tenant: string; event_id: string }[] = [];
async function store(
  records: ReturnType<typeof record>[],
  on: Pick<TestService, 'call' | 'retain'> = service,
): Promise<void> {
  const answer = await on.call('POST', '/enrichment/records', { body: { records } });
  expect(answer.json, answer.text).toMatchObject({ accepted: records.length });
  if (on === service) stored.push(...records);
  expect(await on.retain()).toMatchObject({ state: 'completed' });
}

type Read = {
  rows: {
    tenant: string;
    store: string;
    event_id: string;
    occurred_at: string;
    enrichment: string;
  }[];
  files: string[];
  snapshots: unknown[];
};

/** Lets a reader load the table and, once `meanwhile` is done, read it. */
async function read(
  reader: string,
  { url = service.url, token = service.adminToken, filter = '', meanwhile = async () => {} } = {},
): Promise<Read> {
  const child = spawn(python, [script, reader, url, token, filter]);
  let failure = '';
  child.stderr.on('data', (text) => {
    failure += String(text);
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line === 'loaded') {
      await meanwhile();
      child.stdin.end('\n');
    }
  }
  if (lines[1] === undefined) throw new Error(failure);
  return JSON.parse(lines[1]);
}

const canImport = (name: string) =>
  promisify(execFile)(python, ['-c', `import ${name}`]).then(
    () => true,
    () => false,
  );
const readers = [
  ...((await canImport('pyiceberg, pyarrow')) ? ['pyiceberg'] : []),
  ...((await canImport('duckdb, duckdb_ext')) ? ['iceberg_scan', 'attach'] : []),
];

const keyOf = (row: { tenant: string; event_id: string }) => `${row.tenant} ${row.event_id}`;

test('say plainly which readers are here', () => {
  const missing = ['pyiceberg', 'iceberg_scan', 'attach'].filter((name) => !readers.includes(name));
  if (missing.length > 0)
    process.stdout.write(
      `The table was not read by ${missing.join(', ')}: ${python} lacks them. pip install "pyiceberg[pyarrow]" duckdb==1.4.4 duckdb-ext-iceberg duckdb-ext-avro duckdb-ext-httpfs, and set SVC_TEST_PYTHON.\n`,
    );
  expect([...readers, ...missing].toSorted()).toEqual(['attach', 'iceberg_scan', 'pyiceberg']);
});

describe.each(readers)('%s', (reader) => {
  const round = readers.indexOf(reader) * 1000;
  const merged = `merged by ${reader}`;
  beforeAll(async () => {
    await store([
      ...Array.from({ length: 5 }, (_, n) => record('TX', round + n)),
      ...Array.from({ length: 3 }, (_, n) => record(awkward, round + n)),
      record(merged, 0),
    ]);
  });

  test('reads exactly the cold records, with their values', async () => {
    const { rows } = await read(reader);
    expect(rows.map(keyOf).sort()).toEqual(stored.map(keyOf).sort());
    const row = rows.find((one) => keyOf(one) === `TX e${round + 1}`);
    expect(row).toMatchObject({
      store: 'ORD',
      confidence: '0.5',
      enrichment: `{"n":${round + 1},"text":"é"}`,
      occurred_at: `2020-02-28T12:00:00.${String(round + 1).padStart(6, '0')}+00:00`,
    });
  });

  test('reads on while its segments are merged', async () => {
    const live = () => service.all(`/retention/segments?state=live&tenant=${merged}`);
    const [before] = await live();
    const expected = stored.map(keyOf).sort();
    const { rows } = await read(reader, {
      async meanwhile() {
        for (let n = 1; n < 8; n++) await store([record(merged, n)]);
      },
    });
    expect(rows.map(keyOf).sort()).toEqual(expected);
    const now = await live();
    expect(now.length).toBe(1);
    expect(now[0].object_key).not.toBe(before.object_key);
  });

  test('reads what its filter lets through, and of a limited token what that may see', async () => {
    const equals = reader === 'pyiceberg' ? '==' : '=';
    const ofTenant = await read(reader, { filter: `tenant ${equals} 'TX' and store = 'ORD'` });
    expect(ofTenant.rows.map(({ event_id }) => event_id)).toContain(`e${round + 1}`);
    expect(
      ofTenant.rows.filter(({ tenant, store: of }) => tenant !== 'TX' || of !== 'ORD'),
    ).toEqual([]);
    const { token } = await service.makeToken({ preset: 'curator', tenants: [awkward] });
    const limited = await read(reader, { token });
    expect(new Set(limited.rows.map(({ tenant }) => tenant))).toEqual(new Set([awkward]));
  });
});

test.each(readers.filter((reader) => reader === 'pyiceberg'))(
  '%s reads from S3, whose address the catalogue tells',
  async (reader) => {
    const s3 = await startS3();
    const remote = await startTestService({
      SVC_ROLES: 'api,retention',
      SVC_BLOB_URL: s3.urlOf('with a space'),
    });
    try {
      const records = [record('TX', 0), record(awkward, 1)];
      await store(records, remote);
      const { rows } = await read(reader, { url: remote.url, token: remote.adminToken });
      expect(rows.map(keyOf).sort()).toEqual(records.map(keyOf).sort());
    } finally {
      await remote.stop();
      await s3.close();
    }
  },
);
