import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import sql, { raw } from 'sql-template-tag';
import { use } from '../../../../test/use.ts';
import { newId } from '../../../kernel/ids.ts';
import { findJob } from '../../../platform/jobs/queries.ts';
import type { VerificationRow } from '../../schemas.contract.ts';
import type { VerifyTools } from '../check-segments.ts';
import { insertVerification, type VerifyScope, withProblems } from '../queries.ts';
import { runOpenVerifications } from '../run-verifications.ts';
import { type ColdData, createColdData } from './cold-data.ts';

type Scope = Partial<VerifyScope>;

export type Verifying = ColdData & {
  /** Hot and cold records of two tenants. Returns the segment of TX, of two days, and the path of its object. */
  fill(): Promise<{ segment: string; path: string }>;
  /** Removes what `fill` and a test have made. */
  empty(): Promise<void>;
  pathOfSegment(id: string): Promise<string>;
  request(scope?: Scope): Promise<string>;
  read(id: string): Promise<VerificationRow>;
  /** Requests a verification and does it. */
  verifyAll(scope?: Scope, context?: VerifyTools): Promise<VerificationRow>;
};

/** What a verification that found nothing says. */
export const clean = { state: 'completed', ok: true, problem_count: 0, problems: [], error: null };

const days = ['2001-01-05', '2001-01-06', '2001-01-07', '2001-02-01'];

async function createVerifying(): Promise<Verifying> {
  const data = await createColdData();
  const { db } = data;
  const pathOfSegment = async (id: string) => {
    const rows = await db.query<{ key: string }>(
      sql`select object_key as key from segments where id = ${id}`,
    );
    return data.objects.pathOf(rows[0]?.key ?? '') ?? '';
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
    ...data,
    async fill() {
      await data.addRecords('TX', days);
      await data.addRecords('CA/é', ['2001-01-05'], 3);
      const segment = await data.makeCold('TX', '2001-01-05', '2001-01-06');
      await data.makeCold('CA/é', '2001-01-05', '2001-01-05');
      return { segment, path: await pathOfSegment(segment) };
    },
    async empty() {
      const tables =
        'segments, segment_days, enrichment_records, verifications, moves, move_segments';
      await db.query(sql`truncate ${raw(tables)}, object_removals, work_shares, verified_tenants,
        leaf_days, leaf_months, leaf_stores, tenant_days, tenant_months, leaf_tenants`);
      await rm(join(data.dir, 'objects'), { recursive: true, force: true });
    },
    pathOfSegment,
    request,
    read,
    async verifyAll(scope = {}, context = data) {
      const id = await request(scope);
      await runOpenVerifications(context, new AbortController().signal);
      return read(id);
    },
  };
}

/** Such a world for all tests of a file. */
export function useVerifying(): Verifying {
  return use(createVerifying, (data) => data.close());
}
