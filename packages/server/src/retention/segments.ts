import { type Actor, mayTouchTenant } from '../kernel/actor.ts';
import { formatDigest } from '../kernel/digest.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../kernel/page.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { SegmentRow } from './contract.ts';
import * as queries from './queries.ts';
import type { SegmentState } from './values.ts';

type SegmentsRequest = { tenant?: string; state?: SegmentState; limit?: number; cursor?: string };

/** One page of the objects that hold cold records, by tenant and key. Throws 400 `cursor_invalid`. */
export async function listSegments(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  { limit, cursor, ...filters }: SegmentsRequest,
): Promise<Page<SegmentRow>> {
  const { tenant, state } = filters;
  const page = { cursorKey, scope: { list: 'retention.segments', filters }, limit, cursor };
  const keyset = toKeyset<queries.ObjectKey>(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();
  const tenants = tenant === undefined ? actor.tenants : [tenant];
  const rows = await queries.listObjects(db, { tenants, state }, keyset);
  const { data, next_cursor } = toPage(page, rows, (row) => [row.tenant, row.object_key]);
  const shown = data.map((row) => ({
    ...row,
    digest: row.digest === null ? null : formatDigest(BigInt(row.digest)),
  }));
  return { data: shown, next_cursor };
}
