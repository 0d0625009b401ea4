import { numberOf } from '../kernel/values.ts';
import type { SplitName } from '../records/values.ts';
import type { Client } from './client.ts';
import type { Context } from './context.ts';
import { shellQuote } from './format.ts';
import { parsePage } from './pages.ts';
import type { Days } from './slice.ts';

/** Which records were asked for, by the names of the options. */
export type AskedSlice = Days & {
  tenant: string;
  store?: string | undefined;
  kind?: string | undefined;
  source?: string | undefined;
  where?: string | undefined;
  dataset?: string | undefined;
  version?: string | undefined;
  split?: SplitName | undefined;
};

/** Says on stderr that a slice has no record, and why, as far as this token may know. */
export async function noteEmptySlice(
  context: Context,
  client: Client,
  slice: AskedSlice,
): Promise<void> {
  let reason = '';
  try {
    reason = await findReason(client, slice);
  } catch (error) {
    // A failure here is ignored: the empty answer itself is right, and a token that may export need not be allowed to
    // browse.
    if (context.io.signal.aborted) throw error;
  }
  context.note(`note: no record matches.${reason === '' ? '' : ` ${reason}`}`);
}

/**
 * Why a slice is empty: the tenant or the store does not exist for this token, or the other conditions match nothing.
 */
async function findReason(client: Client, slice: AskedSlice): Promise<string> {
  const { tenant, store, version, split, where } = slice;
  if (version !== undefined) {
    return `The version ${version} holds none${split === undefined ? '' : ` in its split ${split}`}${where === undefined ? '' : ` with ${where}`}.`;
  }
  const own = await findNode(client, { tenant });
  if (own === null) {
    return `There is no tenant ${tenant} within reach of this token: svcctl records ls --level tenant lists those that are.`;
  }
  const node = store === undefined ? own : await findNode(client, { tenant, store });
  if (node === null) {
    return `${tenant} has no store ${store}: svcctl records ls --tenant ${shellQuote(tenant)} --level store lists those it has.`;
  }
  const name = store === undefined ? tenant : `The store ${store} of ${tenant}`;
  const held = `${numberOf(node.count, 'record')} from ${node.first_at.slice(0, 10)} to ${node.last_at.slice(0, 10)}`;
  return `${name} has ${held}, none of them ${conditionsOf(slice).join(' and ')}.`;
}

function conditionsOf({ month, from, to, kind, source, where, dataset }: AskedSlice): string[] {
  const conditions = month === undefined ? [] : [`in ${month}`];
  if (from !== undefined) conditions.push(from === to ? `on ${from}` : `from ${from} to ${to}`);
  if (kind !== undefined) conditions.push(`of the kind ${kind}`);
  if (source !== undefined) conditions.push(`from the source ${source}`);
  if (where !== undefined) conditions.push(`with ${where}`);
  if (dataset !== undefined) conditions.push(`tagged as ${dataset}`);
  return conditions;
}

type Node = { count: number; first_at: string; last_at: string };

/** The counters of the tenant or the store; null when there is none, or this token may not see it. */
async function findNode(
  client: Client,
  of: { tenant: string; store?: string },
): Promise<Node | null> {
  const level = of.store === undefined ? 'tenant' : 'store';
  const page = await client.text('GET /enrichment/datasets', { query: { ...of, level } });
  const [row] = parsePage(page).rows;
  const node = row === undefined ? null : (JSON.parse(row) as Node);
  return node === null || node.count === 0 ? null : node;
}
