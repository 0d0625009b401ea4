import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import sql, { raw } from 'sql-template-tag';
import { use } from '../../../../test/use.ts';
import { newId } from '../../../kernel/ids.ts';
import { findJob } from '../../../platform/jobs/queries.ts';
import { markerName } from '../../../platform/objects/objects.ts';
import {
  addRecords,
  makeRecords,
  startTestMover,
  type TestMover,
} from '../../mover/testing/test-mover.ts';
import { objectKeys } from '../../mover/testing/truth.ts';
import type { VerificationRow } from '../../schemas.contract.ts';
import type { VerifyTools } from '../check-segments.ts';
import { insertVerification, type VerifyScope, withProblems } from '../queries.ts';
import { runOpenVerifications } from '../run-verifications.ts';

type Scope = Partial<VerifyScope>;

type Verifying = VerifyTools & {
  readonly db: TestMover['db'];
  /** Records of the stores AUS and DFW, so many on each of these days. */
  addRecords(tenant: string, days: readonly string[], perDay?: number): Promise<void>;
  /** Moves all hot days up to this one, which become one segment if they are of one month. Returns the last segment. */
  makeCold(tenant: string, lastDay: string): Promise<string>;
  /** The same records in a new object, as a compaction leaves it; the old one is named no more. */
  replaceSegment(id: string): Promise<{ oldKey: string }>;
  /** Hot and cold records of two tenants. Returns the segment of TX, of two days, and the path of its object. */
  fill(): Promise<{ segment: string; path: string }>;
  /** Keeps what is stored now. The function that it returns puts that back, whatever a test has made of it. */
  keep(): Promise<() => Promise<void>>;
  pathOfSegment(id: string): Promise<string>;
  request(scope?: Scope): Promise<string>;
  read(id: string): Promise<VerificationRow>;
  /** Requests a verification and does it. */
  verifyAll(scope?: Scope, context?: VerifyTools): Promise<VerificationRow>;
  stop(): Promise<void>;
};

/** What a verification that found nothing says. */
export const clean = { state: 'completed', ok: true, problem_count: 0, problems: [], error: null };

/** The tables that tests of verifications change. */
const changing = [
  ...['segments', 'segment_days', 'enrichment_records', 'moves', 'move_segments'],
  ...['object_removals', 'verifications', 'work_shares', 'verified_tenants'],
  ...['leaf_days', 'leaf_months', 'leaf_stores', 'tenant_days', 'tenant_months', 'leaf_tenants'],
];

const days = ['2001-01-05', '2001-01-06', '2001-01-07', '2001-02-01'];

async function startVerifying(): Promise<Verifying> {
  const mover = await startTestMover();
  const { db, store: objects, duckdb } = mover;
  const { spoolDir, log, pace } = mover.context();
  await mkdir(spoolDir);
  const tools = { db, objects, duckdb, spoolDir, log, pace };
  const keyOf = async (id: string) => {
    const rows = await db.query<{ key: string }>(
      sql`select object_key as key from segments where id = ${id}`,
    );
    return rows[0]?.key ?? '';
  };
  const pathOfSegment = async (id: string) => objects.pathOf(await keyOf(id)) ?? '';
  const add = (tenant: string, of: readonly string[], perDay = 40) =>
    addRecords(db, makeRecords(tenant, { days: of, stores: ['AUS', 'DFW'], perDay }));
  const makeCold = async (tenant: string, lastDay: string) => {
    await mover.move(tenant, lastDay);
    const [segment] = await db.query<{ id: string }>(
      sql`select id from segments where tenant = ${tenant} and last_day = ${lastDay}::date`,
    );
    return segment?.id ?? '';
  };
  const request = async (scope: Scope = {}) => {
    const id = newId('vrf');
    const all = { tenant: null, tenants: null, since: null, sample_percent: null };
    await insertVerification(db, { id, ...all, ...scope, requestedBy: 'test' });
    return id;
  };
  const read = async (id: string) => {
    const row = await findJob<VerificationRow>(db, withProblems, { id, reach: null });
    if (row === undefined) throw new Error('no such verification');
    return row;
  };
  return {
    ...tools,
    addRecords: add,
    makeCold,
    async replaceSegment(id) {
      const oldKey = await keyOf(id);
      const newSegmentId = newId('seg');
      const key = oldKey.replace(id, newSegmentId);
      await objects.put(key, objects.pathOf(oldKey) ?? '');
      await db.query(sql`
        with replaced as (
          update segments set id = ${newSegmentId}, object_key = ${key} where id = ${id}
        ) update segment_days set segment_id = ${newSegmentId} where segment_id = ${id}`);
      return { oldKey };
    },
    async fill() {
      await add('TX', days);
      await add('CA/é', ['2001-01-05'], 3);
      const segment = await makeCold('TX', '2001-01-06');
      await makeCold('CA/é', '2001-01-05');
      return { segment, path: await pathOfSegment(segment) };
    },
    async keep() {
      const kept = await db.query<{ name: string; columns: string }>(sql`
        select attrelid::regclass::text as name, string_agg(quote_ident(attname), ', ') as columns
        from pg_attribute
        where attrelid = any(${changing}::text[]::regclass[]) and attnum > 0 and not attisdropped and attgenerated = ''
        group by 1`);
      for (const { name, columns } of kept) {
        await db.query(sql`create table ${raw(`${name}_kept as select ${columns} from ${name}`)}`);
      }
      // The marker says which step of the store this database knows, which goes on.
      const keys = async () => (await objectKeys(mover)).filter((key) => key !== markerName);
      const contents = new Map<string, Buffer>();
      for (const key of await keys()) contents.set(key, await readFile(objects.pathOf(key) ?? ''));
      return async () => {
        await db.transaction(async (connection) => {
          await connection.query(sql`truncate ${raw(changing.join(', '))}`);
          for (const { name, columns } of kept) {
            await connection.query(
              sql`insert into ${raw(`${name} (${columns}) select ${columns} from ${name}_kept`)}`,
            );
          }
        });
        for (const key of await keys()) if (!contents.has(key)) await objects.remove(key);
        for (const [key, content] of contents) {
          const path = objects.pathOf(key) ?? '';
          await mkdir(dirname(path), { recursive: true });
          await writeFile(path, content);
        }
      };
    },
    pathOfSegment,
    request,
    read,
    async verifyAll(scope = {}, context = tools) {
      const id = await request(scope);
      await runOpenVerifications(context, new AbortController().signal);
      return read(id);
    },
    stop: () => mover.stop(),
  };
}

/** Such a world for all tests of a file. */
export function useVerifying(): Verifying {
  return use(startVerifying, (data) => data.stop());
}
