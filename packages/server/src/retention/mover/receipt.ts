import { formatDigest } from '../../kernel/digest.ts';
import {
  type DayTriple,
  type GoneEffects,
  sumByDay,
  sumTriples,
  type Triple,
} from '../../records/segments.ts';
import type { EraseReceipt, EraseRemain, TripleRow } from '../contract.ts';
import { doAndUndo, type ErasureState } from './erase-queries.ts';
import type { Matches } from './find-matches.ts';
import type { MoverContext } from './move.ts';
import { type EraseScope, goneOf } from './scope.ts';

/** How many folders of deliveries the receipt names. */
const namedFolders = 20;
/** How many event ids without a record the receipt lists. */
const listedIds = 1000;

/** The receipt of a dry run: what an erasure of these matches would do. */
export function dryReceipt(
  scope: EraseScope,
  matches: Matches,
  {
    act: { requestedAt, reason = null },
    effects,
  }: { act: { requestedAt: string; reason?: string | null }; effects: GoneEffects },
): EraseReceipt {
  const hot = sumTriples(matches.hot);
  const cold = coldTriple(matches);
  return {
    id: null,
    dry_run: true,
    state: null,
    tenant: scope.tenant,
    store: scope.store,
    from: scope.from,
    to: scope.to,
    erased: toTripleRow(sumTriples([hot, cold])),
    hot_count: hot.count,
    cold_count: cold.count,
    segments_rewritten: matches.cold.length,
    ...notFound(scope, matches.foundIds),
    reason,
    requested_at: requestedAt,
    erased_at: null,
    objects_removed_after: null,
    ...toEffects(effects),
    incidents: null,
    remains: [],
  };
}

/** The receipt of a journalled erasure as it is now. Before the switch it tells what will be erased. */
export function receiptOf(planned: EraseReceipt, state: ErasureState): EraseReceipt {
  const receipt = { ...planned, state: state.state };
  if (state.switched_at === null) return receipt;
  const remains = remainsOf(planned, state);
  const isTold = ({ what }: EraseRemain) =>
    what !== 'hot_pages' && remains.some((other) => other.what === what);
  return {
    ...receipt,
    erased: toTripleRow({
      count: state.gone_count,
      bytes: state.gone_bytes,
      digest: state.gone_digest,
    }),
    // Hot records that match and came after the plan were erased, too. Cold records cannot have changed.
    hot_count: state.gone_count - planned.cold_count,
    erased_at: state.switched_at,
    objects_removed_after: state.objects_removed_after,
    ...(state.effects === null ? {} : toEffects(state.effects)),
    remains: [...planned.remains.filter((remain) => !isTold(remain)), ...remains],
  };
}

/** What an erasure cannot take away at once, or at all. */
function remainsOf(planned: EraseReceipt, state: ErasureState): EraseRemain[] {
  const { objects_removed_after, scrub_due, scrubbed } = state;
  const remains: EraseRemain[] = [];
  const add = (what: EraseRemain['what'], note: string, until: string | null = null) =>
    remains.push({ what, until, note });
  const due = scrub_due ?? [];
  const kept = scrubbed?.kept ?? [];
  if (due.length > 0) {
    add(
      'hot_pages',
      `PostgreSQL still has deleted rows in ${namesOf(due)}: a snapshot may see them, or others are at work there. The next run of retention removes them.`,
    );
  }
  if (kept.length > 0) {
    add(
      'hot_pages',
      `Deleted rows may leave bytes in ${namesOf(kept)}, which is too large to be written anew at once: until PostgreSQL has vacuumed it and new rows take their place, or a run writes it anew when most of it has moved.`,
    );
  }
  if (planned.segments_rewritten > 0) {
    add(
      'objects',
      'The replaced objects stay for those who still read them. Local copies (object-cache/) stay until their process needs the room or ends.',
      objects_removed_after,
    );
  }
  const delivered = state.effects?.delivered ?? [];
  if (delivered.length > 0) {
    const named = delivered.slice(0, namedFolders).join(', ');
    const more = delivered.length - namedFolders;
    add(
      'deliveries',
      `Schedules have delivered records of these days, and the service removes nothing there: ${named}${more > 0 ? ` and ${more} more` : ''}.`,
    );
  }
  add('ids', 'Event ids may stay in PostgreSQL’s statistics until it gathers others.');
  const unflushed =
    scrubbed?.hasCheckpoint === false
      ? ' No checkpoint was made: the role of the service needs pg_checkpoint.'
      : '';
  add(
    'wal',
    `PostgreSQL’s log (pg_wal) has what was written lately, until its segments are written over.${unflushed}`,
  );
  add(
    'backups',
    'Backups, archived WAL, disk snapshots, and versions that a bucket keeps have what they had, until they are removed there.',
  );
  return remains;
}

/** Names tables for readers of the receipt: enrichment_records_2001_03 becomes "the month 2001-03". */
function namesOf(tables: readonly string[]): string {
  const names = tables.map((table) => {
    const [, year, month] = /_(\d{4})_(\d\d)$/.exec(table) ?? [];
    return year === undefined ? 'the journal of moves' : `the month ${year}-${month}`;
  });
  return names.join(', ');
}

export const noEffects: GoneEffects = { tagsRemoved: 0, versionsChanged: 0, exportsRemoved: 0 };

function toEffects({ tagsRemoved, versionsChanged, exportsRemoved }: GoneEffects) {
  return {
    tags_removed: tagsRemoved,
    versions_changed: versionsChanged,
    exports_removed: exportsRemoved,
  };
}

/** The result when nothing matches. A caller is also shown it for a tenant out of its reach. */
export const noMatches: Matches = { hot: [], cold: [], foundIds: new Set() };

function coldTriple(matches: Matches): Triple {
  return sumTriples(matches.cold.flatMap(({ days }) => days));
}

/** A triple as callers see it. */
export function toTripleRow({ count, bytes, digest }: Triple): TripleRow {
  return { count, bytes, digest: formatDigest(BigInt(digest)) };
}

/** So many days are told. */
const listedDays = 1000;

/** How many records each of the first of these days has. */
export function tellDays(days: readonly DayTriple[]) {
  return days.slice(0, listedDays).map(({ store, day, count }) => ({ store, day, count }));
}

/** The requested event ids that no record has. */
function notFound({ eventIds }: EraseScope, foundIds: ReadonlySet<string>) {
  const missing = (eventIds ?? []).filter((id) => !foundIds.has(id));
  return { not_found: missing.slice(0, listedIds), not_found_count: missing.length };
}

/** Finds what else an erasure would change, by doing and undoing it: the answer is what would really happen. */
export async function foretell(
  { db, onGone }: Pick<MoverContext, 'db' | 'onGone'>,
  scope: EraseScope,
  matches: Matches,
): Promise<GoneEffects> {
  const days = [
    ...sumByDay([...matches.hot, ...matches.cold.flatMap((found) => found.days)]).values(),
  ];
  if (onGone === undefined || days.length === 0) return noEffects;
  return db.transaction((connection) =>
    doAndUndo(connection, () => onGone(connection, goneOf('erase', scope, days))),
  );
}
