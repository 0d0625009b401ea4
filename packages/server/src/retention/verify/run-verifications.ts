import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import { doJobs, type JobKind, startJobs } from '../../platform/jobs/runner.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import type { Repeated } from '../../platform/work/repeat.ts';
import { tenantFolder } from '../../records/segments.ts';
import { checkCountersOf, eachTenant } from './check-counters.ts';
import { type Check, checkSegments, type VerifyTools } from './check-segments.ts';
import { findOrphans, findOverdue, ourFolders } from './find-orphans.ts';
import * as queries from './queries.ts';
import { createReport } from './report.ts';
import { findUploads } from './uploads.ts';

/** Does the verifications that were asked for. All processes of the role retention divide it among themselves. */
export function startVerifications(context: VerifyTools): Repeated {
  return startJobs(context.db, createVerificationKind(context), context.log);
}

/** Does all verifications that wait, as far as other processes leave something of them. */
export function runOpenVerifications(context: VerifyTools, signal: AbortSignal): Promise<void> {
  return doJobs(context.db, createVerificationKind(context), { log: context.log, signal });
}

function createVerificationKind(context: VerifyTools): JobKind<queries.Claimed, VerifyShare> {
  const { sleep, spoolDir } = context;
  return {
    title: 'verification',
    table: queries.verifications,
    lock: 'verifications',
    waiting: { sleep },
    plan: divide,
    doShare(claimed, share, { signal, wait }) {
      const spool = join(spoolDir, `verify-${claimed.id}-${randomText(8)}`);
      let copies = 0;
      const newSpoolPath = () => `${spool}-${++copies}.parquet`;
      const rest = context.pace.begin();
      return wait.run(() => verify(context, share, { claimed, newSpoolPath, rest, signal }));
    },
    reasonOf: (error) =>
      error instanceof AppError
        ? `${error.code}: ${error.detail}`
        : 'internal_error: The service made a mistake; its log tells which. Verify again.',
  };
}

/** A share of a verification. Stretches begin after `after` and end with `last`; null means no border. */
type VerifyShare =
  | { kind: 'segments'; after: queries.SegmentKey | null; last: queries.SegmentKey }
  | { kind: 'objects'; prefix: string }
  | { kind: 'counters'; after: string | null; last: string | null }
  | { kind: 'counters'; tenant: string };

/** A share has so many segments or tenants at most, or so many bytes: some seconds of work, which a kill may cost. */
const segmentsOfShare = 100;
const tenantsOfShare = 50;
const bytesOfShare = 64 * 2 ** 20;
const keysAtOnce = 10_000;
const segmentsAtOnce = 1000;

/** Cuts a verification into shares. */
async function divide(connection: Connection, claimed: queries.Claimed): Promise<VerifyShare[]> {
  const tenants = scopeOf(claimed);
  const totals = { segments: 0, bytes: 0 };
  const shares: VerifyShare[] = await divideSegments(connection, claimed, totals);
  // A sample says nothing about objects that nobody knows, which can't be found without listing all of them.
  if (claimed.sample_percent === null) {
    const prefixes = tenants === null ? ourFolders : tenants.flatMap(objectFolders);
    shares.push(...prefixes.map((prefix) => ({ kind: 'objects', prefix }) as const));
  }
  if (tenants === null) {
    const borders = [null, ...(await queries.listBorders(connection, tenantsOfShare)), null];
    const stretches = borders.slice(1).map((last, i) => ({ after: borders[i] ?? null, last }));
    shares.push(...stretches.map((stretch) => ({ kind: 'counters', ...stretch }) as const));
  } else {
    shares.push(...tenants.map((tenant) => ({ kind: 'counters', tenant }) as const));
  }
  await queries.noteTotals(connection, claimed.id, totals);
  return shares;
}

async function divideSegments(
  connection: Queryable,
  claimed: queries.Claimed,
  totals: { segments: number; bytes: number },
): Promise<VerifyShare[]> {
  const { since } = claimed;
  const tenants = scopeOf(claimed);
  const shares: VerifyShare[] = [];
  const begin = (after: queries.SegmentKey | null) => ({
    after,
    last: after,
    segments: 0,
    bytes: 0,
  });
  let share = begin(null);
  const end = () => {
    if (share.last === null || share.segments === 0) return;
    shares.push({ kind: 'segments', after: share.after, last: share.last });
    totals.segments += share.segments;
    totals.bytes += share.bytes;
    share = begin(share.last);
  };
  const all = { tenants, since, after: null, limit: keysAtOnce };
  for await (const { tenant, id, size_bytes } of queries.eachSegmentKey(connection, all)) {
    if (!isSampled(claimed, id)) continue;
    share.last = [tenant, id];
    share.segments += 1;
    share.bytes += size_bytes;
    if (share.segments === segmentsOfShare || share.bytes >= bytesOfShare) end();
  }
  end();
  return shares;
}

/** Whether a segment or tenant is in a verification's sample: its own, and the same in every process. */
function isSampled({ id, sample_percent: percent }: queries.Claimed, name: string): boolean {
  if (percent === null) return true;
  const hash = createHash('sha256').update(`${id}/${name}`).digest().readUInt32BE();
  return hash < (percent / 100) * 2 ** 32;
}

type Verify = Pick<Check, 'newSpoolPath' | 'rest' | 'signal'> & { claimed: queries.Claimed };

/**
 * Compares catalogue, objects, counters and hot records with each other, while others read, ingest and move. It changes
 * nothing but what says when something was last found right. Throws when something cannot be read at all. Returns what
 * stores the findings.
 */
async function verify(
  tools: VerifyTools,
  share: VerifyShare,
  { claimed, newSpoolPath, rest, signal }: Verify,
): Promise<(connection: Connection) => Promise<void>> {
  const { db, objects, log } = tools;
  const report = createReport();
  const { add } = report;
  const store = (connection: Connection) =>
    queries.addFindings(connection, claimed.id, report.found);
  switch (share.kind) {
    case 'segments': {
      const check = { newSpoolPath, report, rest, signal };
      const right = await checkSegments(tools, eachSegment(db, claimed, share), check);
      return async (connection) => {
        await queries.noteVerifiedSegments(connection, right);
        await store(connection);
      };
    }
    case 'objects': {
      await findOrphans(db, objects, [share.prefix], { signal, rest, add });
      const prefixes = [share.prefix];
      await findOverdue(tools, share.prefix, { signal, add });
      await findUploads(db, objects, { prefixes, clock: systemClock, log, signal, add });
      return store;
    }
    case 'counters': {
      const tenants = dueTenants(db, claimed, share);
      const right = await checkCountersOf(db, tenants, { signal, rest, add });
      return async (connection) => {
        await queries.noteVerifiedTenants(connection, right);
        await store(connection);
      };
    }
  }
}

/** The tenants of a share whose counters the verification is to compare. */
async function* dueTenants(
  db: Queryable,
  claimed: queries.Claimed,
  share: Extract<VerifyShare, { kind: 'counters' }>,
): AsyncGenerator<string> {
  const { since } = claimed;
  for await (const tenant of 'tenant' in share ? [share.tenant] : eachTenant(db, share)) {
    if (!isSampled(claimed, tenant)) continue;
    if (since === null || !(await queries.isVerifiedSince(db, tenant, since))) yield tenant;
  }
}

/** The segments of a share that the verification is to read. */
async function* eachSegment(
  db: Queryable,
  claimed: queries.Claimed,
  { after, last }: Extract<VerifyShare, { kind: 'segments' }>,
): AsyncGenerator<queries.LiveSegment> {
  const { since } = claimed;
  const all = { tenants: scopeOf(claimed), since, after, last, limit: segmentsAtOnce };
  for await (const segment of queries.eachSegment(db, all)) {
    if (isSampled(claimed, segment.id)) yield segment;
  }
}

/** The folders of a tenant's segments and of its export files. */
function objectFolders(tenant: string): string[] {
  return ['records', 'exports'].map((folder) => `${folder}/${tenantFolder(tenant)}/`);
}

/** The tenants to verify; null means all. */
function scopeOf({ tenant, tenants }: queries.Claimed): readonly string[] | null {
  if (tenant === null) return tenants;
  return tenants === null || tenants.includes(tenant) ? [tenant] : [];
}
