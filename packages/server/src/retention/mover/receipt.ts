import { formatDigest } from '../../kernel/digest.ts';
import {
  type DayTriple,
  type GoneEffects,
  sumByDay,
  sumTriples,
  type Triple,
} from '../../records/segments.ts';
import type { EraseReceipt, EraseRemain, TripleRow } from '../contract.ts';
import { doAndUndo, type ErasureState, textTables } from './erase-queries.ts';
import type { Matches } from './find-matches.ts';
import type { MoverContext } from './move.ts';
import { type EraseScope, goneOf } from './scope.ts';

/** How many folders of deliveries, or downloads, a remain names. */
const mostNamed = 20;
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
    backup_key: null,
    remains: [],
  };
}

/** The receipt of a journalled erasure as it is now. Before the switch it tells what will be erased. */
export function receiptOf(planned: EraseReceipt, state: ErasureState): EraseReceipt {
  const receipt = { ...planned, state: state.state };
  if (state.switched_at === null) return receipt;
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
    remains: tellOnce([...planned.remains, ...remainsOf(planned, state)]),
  };
}

/** Says of backups what is so since the key of the tenant is removed from them. */
export function tellKey(receipt: EraseReceipt): EraseReceipt {
  if (receipt.backup_key !== 'removed') return receipt;
  const note =
    'Backups by svcctl hold the tenant encrypted by a key that is gone, but those made before SVC_BACKUP_KEYS was set; archived WAL, disk snapshots and versions that a bucket keeps have what they had.';
  const remains = receipt.remains.map((one) => (one.what === 'backups' ? { ...one, note } : one));
  return { ...receipt, remains };
}

/** Leaves out what holds of the whole service and is told again later, by another part of the erasure. */
export function tellOnce(remains: readonly EraseRemain[]): EraseRemain[] {
  const last = new Map(remains.map((remain) => [remain.what, remain]));
  return remains.filter(
    (remain) => !ofService.includes(remain.what) || last.get(remain.what) === remain,
  );
}

const ofService: readonly EraseRemain['what'][] = ['ids', 'wal', 'backups'];

/** What an erasure cannot take away at once, or at all. */
function remainsOf(planned: EraseReceipt, state: ErasureState): EraseRemain[] {
  const { objects_removed_after, scrubbed } = state;
  const remains = pagesLeft(state, 'The next run of retention removes them.');
  const add = (what: EraseRemain['what'], note: string, until: string | null = null) =>
    remains.push({ what, until, note });
  if (planned.segments_rewritten > 0) {
    add(
      'objects',
      'The replaced objects stay for those who still read them. Local copies (object-cache/) stay until their process needs the room or ends.',
      objects_removed_after,
    );
  }
  const { delivered = [], downloads = [] } = state.effects ?? {};
  if (delivered.length > 0) {
    add(
      'deliveries',
      `Schedules have delivered records of these days, and the service removes nothing there: ${firstOf(delivered)}.`,
    );
  }
  if (downloads.length > 0) {
    const told = downloads.map(
      ({ id, name, at, by }) => `${name} (${id}), by ${by.join(', ')}, last at ${at}`,
    );
    add(
      'downloads',
      `Files of exports with records of these days were fetched, and stay where they were saved: ${firstOf(told, '; ')}.`,
    );
  }
  return [...remains, ...leftAnyway(scrubbed?.hasCheckpoint)];
}

/** Where what was taken away stays in any case. */
export function leftAnyway(hasCheckpoint = true): EraseRemain[] {
  const unflushed = hasCheckpoint
    ? ''
    : ' No checkpoint was made: the role of the service needs pg_checkpoint.';
  const remain = (what: EraseRemain['what'], note: string) => ({ what, until: null, note });
  return [
    remain(
      'ids',
      'Event ids, and the texts of conditions and views, may stay in PostgreSQL’s statistics until it gathers others.',
    ),
    remain(
      'wal',
      `PostgreSQL’s log (pg_wal) has what was written lately, until its segments are written over.${unflushed}`,
    ),
    remain(
      'backups',
      'Backups, archived WAL, disk snapshots, and versions that a bucket keeps have what they had, until they are removed there.',
    ),
  ];
}

/** What is left in the pages of tables that are to be scrubbed; `whenDue` says when those go that could not yet. */
export function pagesLeft(
  { scrub_due, scrubbed }: Pick<ErasureState, 'scrub_due' | 'scrubbed'>,
  whenDue: string,
): EraseRemain[] {
  const due = scrub_due ?? [];
  const kept = scrubbed?.kept ?? [];
  const notes = [
    due.length > 0 &&
      `PostgreSQL still has deleted rows in ${namesOf(due)}: a snapshot may see them, or others are at work there. ${whenDue}`,
    kept.length > 0 &&
      `Deleted rows may leave bytes in ${namesOf(kept)}, which is too large to be written anew at once: until PostgreSQL has vacuumed it and new rows take their place, or a run writes it anew when most of it has moved.`,
  ];
  return notes.flatMap((note) => (note ? [{ what: 'hot_pages', until: null, note }] : []));
}

function firstOf(texts: readonly string[], separator = ', '): string {
  const more = texts.length - mostNamed;
  return `${texts.slice(0, mostNamed).join(separator)}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Names tables for readers of the receipt: enrichment_records_2001_03 becomes "the month 2001-03". */
function namesOf(tables: readonly string[]): string {
  const names = tables.map((table) => {
    const [, year, month] = /_(\d{4})_(\d\d)$/.exec(table) ?? [];
    return year === undefined
      ? textTables[table as keyof typeof textTables]
      : `the month ${year}-${month}`;
  });
  return names.join(', ');
}

export const noEffects: GoneEffects = { tagsRemoved: 0, versionsChanged: 0, exportsRemoved: 0 };

function toEffects(effects: GoneEffects) {
  return {
    tags_removed: effects.tagsRemoved,
    versions_changed: effects.versionsChanged,
    versions: [...(effects.versions ?? [])],
    exports_removed: effects.exportsRemoved,
    exports: [...(effects.exports ?? [])],
    counts_ended: effects.countsEnded ?? 0,
    counts: [...(effects.counts ?? [])],
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
