import { join } from 'node:path';
import {
  addStored,
  replaceSegments,
  sumTriples,
  writeSegmentFromRecords,
} from '../../records/segments.ts';
import { MoveFault } from './fail.ts';
import { isPinnedSince, noteStored } from './import-queries.ts';
import type { KindSteps, Move } from './move.ts';

/**
 * What the journal has of an import: when its records count as stored, the name of the token that sent them, and the job
 * that they belong to.
 */
export type ImportRequest = {
  readonly recorded_at: string;
  readonly requested_by: string;
  readonly import?: string | undefined;
};

function requestOf({ id, request }: Move): ImportRequest {
  if (request) return request as ImportRequest;
  throw new Error(`the journal does not tell when ${id} stores its records`);
}

/**
 * An import: the upload becomes a segment, counted for the first time. It is in no store: its sender sends it again.
 */
export const importKind: KindSteps = {
  async copy({ duckdb }, { move, out: [segment], dir, signal }) {
    if (segment === undefined) throw new Error(`the import ${move.id} has no segment to write`);
    if (move.upload === undefined) {
      throw new MoveFault(
        'upload_gone',
        'The process that was sent these records ended before it had copied them. Nothing was stored.',
      );
    }
    const { rows, days } = move.upload;
    const target = join(dir, `${segment.segment_id}.parquet`);
    const count = days.reduce((sum, day) => sum + day.count, 0);
    const bytes = days.reduce((sum, day) => sum + day.bytes, 0);
    const { recorded_at: recordedAt } = requestOf(move);
    await writeSegmentFromRecords(duckdb, { rows, recordedAt, target, count, bytes, signal });
    return { files: [{ segment_id: segment.segment_id, path: target }], days };
  },

  async switch(connection, { work: { move }, segments }) {
    const { tenant } = move;
    const { recorded_at: recordedAt, import: importId } = requestOf(move);
    // Nobody pins anything of the tenant now. What was pinned since the records got their time lacks them, although they
    // look as if they had been there.
    if (await isPinnedSince(connection, tenant, recordedAt)) {
      throw new MoveFault(
        'pinned_meanwhile',
        'A version or an export froze what the tenant had while these records came. Nothing was stored.',
      );
    }
    await replaceSegments(connection, {
      tenant,
      add: segments,
      remove: [],
      areNew: true,
      async removeHot(locked) {
        const held = locked.find(({ count }) => count > 0);
        if (held === undefined) return [];
        throw new MoveFault(
          'days_held',
          `Store ${held.store} holds records on ${held.day} by now. Nothing was stored.`,
        );
      },
    });
    const days = segments.flatMap((segment) => segment.days);
    await noteStored(connection, tenant, { recordedAt, days });
    if (importId === undefined) return [];
    const added = { count: sumTriples(days).count, coldDays: days.length };
    if (await addStored(connection, importId, added)) return [];
    throw new MoveFault('import_ended', `The import ${importId} has ended. Nothing was stored.`);
  },

  refuse(_connection, { last_day }, { lastMoveDay }) {
    if (last_day <= lastMoveDay) return;
    const message = `The policy keeps days after ${lastMoveDay} hot. Nothing was stored.`;
    throw new MoveFault('not_due', message);
  },
};
