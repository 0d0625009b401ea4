import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatNumberOf } from '../format.ts';
import { walkPages } from '../pages.ts';
import type { RouteAnswer } from '../routes.ts';

type TenantState = RouteAnswer<'GET /retention/tenants'>['data'][number];
export type Due = { count: number; bytes: number; tenants: number; lastDay: string };

const earliest = '1970-01-01';
const dayMs = 86_400_000;

/** What a policy that deletes after so many days would delete of a tenant, or of all under the default. */
export async function measureDue(
  context: Context,
  client: Client,
  { tenant, deleteDays }: { tenant: string; deleteDays: number },
): Promise<Due> {
  const lastDay = new Date(context.io.now() - (deleteDays + 1) * dayMs).toISOString().slice(0, 10);
  const due: Due = { count: 0, bytes: 0, tenants: 0, lastDay };
  if (lastDay < earliest) return due;
  const names = tenant === '*' ? tenantsUnderDefault(context, client) : [tenant];
  for await (const name of names) {
    const { rows, bytes } = await client.json('GET /exports/estimate', {
      query: { tenant: name, from: earliest, to: lastDay },
    });
    if (rows === 0) continue;
    due.count += rows;
    due.bytes += bytes;
    due.tenants += 1;
  }
  return due;
}

/** 1,204 records (611 kB) of 1 tenant, up to 2001-01-31 */
export function dueText({ count, bytes, tenants, lastDay }: Due): string {
  return `${formatNumberOf(count, 'record')} (${formatBytes(bytes)}) of ${formatNumberOf(tenants, 'tenant')}, up to ${lastDay}`;
}

async function* tenantsUnderDefault(context: Context, client: Client): AsyncGenerator<string> {
  for await (const page of walkPages(context.io, client, {
    route: 'GET /retention/tenants',
    query: {},
  })) {
    for (const row of page.rows) {
      const { tenant, policy } = JSON.parse(row) as TenantState;
      if (policy.from_default) yield tenant;
    }
  }
}
