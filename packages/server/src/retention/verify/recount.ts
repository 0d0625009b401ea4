import type { AuditLocally } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { checkCounters, eachTenant, stretchesOf } from './check-counters.ts';
import {
  listMonths,
  listWrongDays,
  lockDayCounters,
  recountDays,
  recountSums,
  type Stretch,
} from './counter-queries.ts';

type RecountOptions = {
  /** Whose counters; null for all. */
  readonly tenant: string | null;
  /** Only tells what is wrong. */
  readonly isDry: boolean;
  readonly audit: AuditLocally;
  readonly signal: AbortSignal;
};

export type Recounted = {
  readonly dry_run: boolean;
  /** How many tenants were looked at. */
  readonly tenants: number;
  /** How many counters were wrong, and the first of them. */
  readonly wrong: number;
  readonly problems: readonly { readonly tenant: string; readonly message: string }[];
  /** How many differences a verification of these counters still finds. */
  readonly left: number;
};

const listed = 1000;

/**
 * Compares the counters of tenants with their hot records and the catalogue, makes those anew that are wrong, and
 * compares once more. While a tenant's counters are made anew, no records are stored or moved, of no tenant.
 */
export async function recount(
  db: Database,
  { tenant: only, isDry, audit, signal }: RecountOptions,
): Promise<Recounted> {
  const problems: { tenant: string; message: string }[] = [];
  let [tenants, wrong, left] = [0, 0, 0];
  for await (const tenant of only === null ? eachTenant(db, { after: null, last: null }) : [only]) {
    signal.throwIfAborted();
    tenants += 1;
    const found = await check(db, tenant, signal);
    if (found.count === 0) continue;
    wrong += found.count;
    const room = listed - problems.length;
    problems.push(...found.problems.slice(0, room).map(({ message }) => ({ tenant, message })));
    if (isDry) continue;
    await recountTenant(db, tenant, { wrong: found.count, audit, signal });
    left += (await check(db, tenant, signal)).count;
  }
  return { dry_run: isDry, tenants, wrong, problems, left: isDry ? wrong : left };
}

async function check(db: Database, tenant: string, signal: AbortSignal) {
  const found = { count: 0, problems: [] as VerifyProblem[] };
  const rest = async () => {};
  await checkCounters(db, [tenant], {
    signal,
    rest,
    add(problems, count) {
      found.count += count;
      found.problems.push(...problems);
    },
  });
  return found;
}

async function recountTenant(
  db: Database,
  tenant: string,
  { wrong, audit, signal }: Pick<RecountOptions, 'audit' | 'signal'> & { wrong: number },
): Promise<void> {
  // Which days are wrong is found before anybody is kept away.
  const days: Stretch[] = [];
  for (const stretch of (await listMonths(db, tenant)).flatMap(stretchesOf)) {
    signal.throwIfAborted();
    if ((await listWrongDays(db, [tenant], stretch, 1)).length > 0) days.push(stretch);
  }
  await db.transaction(async (connection) => {
    await lockDayCounters(connection);
    for (const stretch of days) await recountDays(connection, tenant, stretch);
    await recountSums(connection, tenant);
    await audit(connection, 'this machine', {
      action: 'records.recount',
      target: null,
      tenant,
      after: { wrong, days: days.map(({ first, last }) => `${first}/${last}`) },
    });
  });
}
