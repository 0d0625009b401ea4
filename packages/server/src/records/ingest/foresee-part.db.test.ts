import fc from 'fast-check';
import sql, { raw } from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import type { Actor } from '../../kernel/actor.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import type { IngestAnswer } from '../contract.ts';
import { Findings } from './findings.ts';
import { createIngest, type Ingest } from './ingest.ts';
import { useFreezer } from './testing/freeze.ts';
import {
  bodyOf,
  ingestLimits,
  dayRecord as record,
  dayRecords as records,
} from './testing/post-records.ts';

const db = useTestDatabase();
const freezer = useFreezer(db);
/** A database on whose connections every write fails. */
let readOnly: Database;
let real: Ingest;
let dry: Ingest;
/** Runs once, after the next statement of a dry run. */
let afterQuery: (() => Promise<unknown>) | null = null;

beforeAll(async () => {
  const { objects, duckdb } = freezer;
  const cold = { objects, duckdb };
  const setReadOnly = (value: string) =>
    db.pool.query(
      `alter database ${new URL(db.url).pathname.slice(1)} set default_transaction_read_only = ${value}`,
    );
  await setReadOnly('on');
  readOnly = openDatabase({ url: db.url, maxConnections: 1, onError: () => {} });
  await readOnly.query(sql`select 1`);
  await setReadOnly('off');
  real = createIngest(db, { ...ingestLimits, maxRecords: 20, cold });
  const hooked: Database = {
    ...readOnly,
    async query(statement, options) {
      const rows = await readOnly.query(statement, options);
      const then = afterQuery;
      afterQuery = null;
      await then?.();
      return rows as never;
    },
  };
  dry = createIngest(hooked, { ...ingestLimits, maxRecords: 20, cold });
});
afterAll(() => readOnly.close());

const lines = (records: readonly object[]) =>
  records.map((one) => `${JSON.stringify(one)}\n`).join('');

type Way = 'batch' | 'stream';
function take(
  ingest: Ingest,
  way: Way,
  sent: readonly object[],
  { actor = testActor, findings }: { actor?: Actor; findings?: Findings } = {},
): Promise<IngestAnswer> {
  const text = way === 'batch' ? JSON.stringify({ records: sent }) : lines(sent);
  return ingest[way](bodyOf(text, way === 'stream'), actor, { findings });
}

/** What every table holds, as one hash each. */
async function allTables(): Promise<Record<string, unknown>[]> {
  const names = await db.query<{ name: string }>(sql`
    select relname as name from pg_class
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by 1`);
  expect(names.length).toBeGreaterThan(20);
  return Promise.all(
    names.map(async ({ name }) => {
      const [held] = await db.query(sql`
        select count(*) as rows, md5(string_agg(held::text, ' ' order by held::text)) as hash
        from ${raw(`"${name}"`)} held`);
      return { name, ...held };
    }),
  );
}

/** Tries records, and stores them: both must answer the same, and trying must leave everything as it was. */
async function tryAndStore(way: Way, sent: readonly object[], actor = testActor) {
  const before = await allTables();
  const foreseen = await take(dry, way, sent, { actor, findings: new Findings(() => {}) });
  expect(await allTables()).toEqual(before);
  expect(await take(real, way, sent, { actor })).toEqual(foreseen);
  return foreseen;
}

test.each<[Way]>([['batch'], ['stream']])(
  'a dry run of a %s answers what storing answers then, and writes nothing',
  async (way) => {
    await take(real, way, records(way, 12));
    await freezer.freeze(way);
    await take(real, way, records(way, 4, 100));
    const actor = { ...testActor, tenants: [way, `${way}\u200b`] };
    const answer = await tryAndStore(
      way,
      [
        record(way, 0),
        record(way, 1, { kind: 'other' }),
        record(way, 50),
        record(way, 50),
        record(way, 50, { enrichment: { n: 50.0, m: 1 } }),
        record(way, 100),
        record(way, 101, { enrichment: { n: 1 } }),
        record(way, 101),
        record('elsewhere', 1),
        record(`${way}\u200b`, 1),
        { ...record(way, 60), tenant: undefined },
        record(way, 61, { occurred_at: 'noon' }),
        // A month that has no partition yet.
        record(way, 62, { occurred_at: '1983-01-01T00:00:00Z' }),
      ],
      actor,
    );
    expect(answer).toMatchObject({ accepted: 2, duplicates: 4, rejected_count: 7 });
    expect(answer.rejected.map(({ index, code }) => `${index} ${code}`)).toEqual([
      '1 conflict',
      '4 conflict',
      '6 conflict',
      '8 tenant_not_allowed',
      '9 field_invalid',
      '10 field_required',
      '11 field_invalid',
    ]);
  },
);

test('any part is foreseen as it is stored, whatever is hot, cold or in it twice', async () => {
  const drawn = fc.array(
    fc.record({ n: fc.nat(14), kind: fc.constantFrom('a', 'b'), m: fc.nat(1) }),
    { minLength: 1, maxLength: 20 },
  );
  let round = 0;
  await fc.assert(
    fc.asyncProperty(drawn, drawn, drawn, async (first, second, third) => {
      round += 1;
      const tenant = `any${round}`;
      const made = (all: typeof first) =>
        all.map(({ n, kind, m }) => record(tenant, n, { kind, enrichment: { m } }));
      await take(real, 'batch', made(first));
      await freezer.freeze(tenant);
      await take(real, 'stream', made(second));
      const findings = new Findings(() => {});
      const foreseen = await take(dry, 'batch', made(third), { findings });
      expect(await take(real, 'batch', made(third))).toEqual(foreseen);
    }),
    { numRuns: runs(25) },
  );
});

test('what a stream repeats in another part is not seen', async () => {
  const sent = [...records('parts', 20), record('parts', 0)];
  const findings = new Findings(() => {});
  expect(await take(dry, 'stream', sent, { findings })).toMatchObject({
    accepted: 21,
    duplicates: 0,
  });
  expect(await take(real, 'stream', sent)).toMatchObject({ accepted: 20, duplicates: 1 });
});

test('a record that is frozen while it is looked for is found once', async () => {
  await take(real, 'batch', records('moved', 4));
  await freezer.freeze('moved');
  await take(real, 'batch', records('moved', 4, 4));
  // The cold days are searched after the second four were seen hot.
  afterQuery = () => freezer.freeze('moved');
  const findings = new Findings(() => {});
  expect(await take(dry, 'batch', records('moved', 9), { findings })).toMatchObject({
    accepted: 1,
    duplicates: 8,
    rejected_count: 0,
  });
});

test('a missing segment refuses the dry run as it refuses the records', async () => {
  await take(real, 'batch', records('gone', 4));
  await freezer.freeze('gone');
  await db.query(sql`update segment_days set count = count - 1 where tenant = 'gone'`);
  const findings = new Findings(() => {});
  for (const options of [{ findings }, {}]) {
    const ingest = 'findings' in options ? dry : real;
    await expect(take(ingest, 'batch', records('gone', 1), options)).rejects.toMatchObject({
      code: 'segment_damaged',
    });
  }
});

test('a dry run that breaks off says that nothing is stored, and what would be', async () => {
  const body = {
    ...bodyOf('', true),
    async *chunks() {
      yield Buffer.from(`${lines(records('cut', 3))}no record\n`);
      throw new Error('the line broke');
    },
  };
  const findings = new Findings(() => {});
  await expect(dry.stream(body, testActor, { findings })).rejects.toMatchObject({
    code: 'internal_error',
    detail: expect.stringMatching(
      /dry run, and nothing is stored\. Of the 4 lines read, 0 would be/,
    ),
    members: { rejected_count: 1, lines_read: 4 },
  });
});

test('all that was on a connection that cannot write', async () => {
  await expect(take(dry, 'batch', records('write', 1))).rejects.toMatchObject({
    code: 'read_only',
  });
});
