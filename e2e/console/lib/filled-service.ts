import { expect } from 'vitest';
import { ingestStream } from '../../lib/ingest.ts';
import {
  type Beginning,
  createInstallation,
  type Environment,
  type Installation,
  type Service,
} from '../../lib/installation.ts';
import type { NewRecord } from '../../lib/records.ts';
import { waitFor } from '../../lib/wait-for.ts';

/** What a file's tests look at, and how it is removed. */
type Started<T> = T & { readonly installation: Installation; remove(): Promise<void> };

export type FilledService = Started<{
  readonly service: Service;
  /** The one-time link that the first start printed. */
  readonly link: string;
}>;

const tenants = ['CA', 'TX'];
const stores = ['AUS', 'DFW', 'IAH'];
const months = ['2001-02', '2001-03'];

/** Number of records of tenant TX, store DFW, in March; every other leaf has `leafSize`. */
export const bigLeafSize = 1200;
const leafSize = 200;

/** The leaf with more records than the largest page. */
export const bigLeaf = '/records?tenant=TX&store=DFW&month=2001-03';

/** A service on its own data dir with 2 tenants of 3 stores of 2 months. */
export function startFilled(env: Environment = {}, begin?: Beginning): Promise<FilledService> {
  return startIn(async (installation) => {
    const service = await installation.start(env);
    const link = await waitFor('the sign-in link', () => findLink(service.output()));
    const records = makeRecords();
    const answer = await ingestStream(service, records);
    expect(answer.accepted).toBe(records.length);
    return { service, link };
  }, begin);
}

/**
 * A service on its own data dir, which holds nothing. What is wrong with the tests' own server, such as that fsync is off,
 * stands on the console; nothing is wrong with a cluster of its own.
 */
export function startEmpty(
  env: Environment = {},
  begin?: Beginning,
): Promise<Started<{ service: Service }>> {
  return startIn(async (installation) => ({ service: await installation.start(env) }), begin);
}

async function startIn<T>(
  start: (installation: Installation) => Promise<T>,
  begin: Beginning = 'database',
): Promise<Started<T>> {
  const installation = await createInstallation(begin);
  const remove = () => installation.remove();
  try {
    return { ...(await start(installation)), installation, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function findLink(output: string): string | undefined {
  return /^\s*Console\s+(\S+\/#\/sign-in\?code=\S+)/m.exec(output)?.[1];
}

function makeRecords(): NewRecord[] {
  return tenants.flatMap((tenant) =>
    stores.flatMap((store) =>
      months.flatMap((month) => {
        const isBig = tenant === 'TX' && store === 'DFW' && month === '2001-03';
        return makeMonth({ tenant, store, month }, isBig ? bigLeafSize : leafSize);
      }),
    ),
  );
}

/** Makes the records of one month, spread evenly over its first 28 days. */
function makeMonth(
  leaf: { tenant: string; store: string; month: string },
  count: number,
): NewRecord[] {
  const { tenant, store, month } = leaf;
  const start = Date.parse(`${month}-01T00:00:00Z`);
  const stepMillis = Math.floor((28 * 86_400_000) / count);
  return Array.from({ length: count }, (_, n) => ({
    tenant,
    store,
    event_id: `${store}-${String(n).padStart(5, '0')}`,
    occurred_at: new Date(start + n * stepMillis).toISOString(),
    kind: n % 3 === 0 ? 'arrival' : 'departure',
    source: 'e2e',
    confidence: (n % 100) / 100,
    enrichment: { n, delay: n % 61, origin: { iata: store, name: 'Dallas/Fort Worth' } },
  }));
}
