import { setImmediate } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import {
  ask,
  compileSaved,
  type Filter,
  filteredOf,
  filterSteps,
  stepsAtOnce,
  subjectOf,
} from '../subscription.ts';
import { type LookedRow, listBodies } from './queries.ts';

export type Asked<Row> = {
  /** Those of which it is known: all, or the first of them, and at least one. */
  readonly known: readonly Row[];
  readonly passed: readonly Row[];
  /** Those that pass because the filter costs too much. */
  readonly costly: readonly Row[];
  /** Whether all pass because this release cannot read the filter. */
  readonly isUnreadable: boolean;
};

type Askable = Pick<LookedRow, 'id' | 'size_bytes'>;

/** Payloads are read so many, and so many bytes, at a time: a share seldom needs all that it looked at. */
const most = { rows: 250, bytes: 4 * 1024 * 1024 };

/**
 * Asks the filter of an endpoint about past incidents, by the rules that hold for reports: what cannot be read, and what
 * costs too much, lets an incident pass. The filters of others have no share in what one may cost here.
 */
export class ReplayFilter {
  readonly #log: Pick<Log, 'warn'>;
  /** The filter that was asked last: a replay asks the same one many times, and the log tells once of one that is bad. */
  #last: { readonly text: string; readonly filter: Filter | null } | null = null;

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  /**
   * Asks about incidents in their order, until `mostPassed` pass or the steps of one report are done. Without a filter all
   * pass. An incident whose payload is gone meanwhile passes: whoever sends it sees that it was erased.
   */
  async ask<Row extends Askable>(
    db: Queryable,
    text: string | null,
    rows: readonly Row[],
    mostPassed = Number.POSITIVE_INFINITY,
  ): Promise<Asked<Row>> {
    const filter = text === null ? null : this.#compiled(text);
    if (filter === null) {
      const known = rows.slice(0, mostPassed);
      return { known, passed: known, costly: [], isUnreadable: text !== null };
    }
    const [known, passed, costly]: [Row[], Row[], Row[]] = [[], [], []];
    const asked = { known, passed, costly, isUnreadable: false };
    let [left, pauseAt] = [filterSteps.all, filterSteps.all - stepsAtOnce];
    for (const piece of piecesOf(rows)) {
      const bodies = new Map((await listBodies(db, piece)).map((row) => [row.id, row]));
      for (const row of piece) {
        if (passed.length >= mostPassed || left < filterSteps.each) return asked;
        const body = bodies.get(row.id);
        const said = body && ask(filter, subjectOf(filteredOf(body)), left);
        left -= said?.steps ?? 0;
        known.push(row);
        if (said?.passes !== false) passed.push(row);
        if (said?.isUnfiltered) costly.push(row);
        if (left < pauseAt) {
          pauseAt = left - stepsAtOnce;
          await setImmediate();
        }
      }
    }
    return asked;
  }

  #compiled(text: string): Filter | null {
    if (this.#last?.text !== text) this.#last = { text, filter: compileSaved(text, this.#log) };
    return this.#last.filter;
  }
}

/** Cuts incidents into pieces whose payloads are read together. */
function* piecesOf<Row extends Askable>(rows: readonly Row[]): Generator<Row[]> {
  let [piece, bytes]: [Row[], number] = [[], 0];
  for (const row of rows) {
    if (piece.length === most.rows || (piece.length > 0 && bytes + row.size_bytes > most.bytes)) {
      yield piece;
      [piece, bytes] = [[], 0];
    }
    piece.push(row);
    bytes += row.size_bytes;
  }
  if (piece.length > 0) yield piece;
}
