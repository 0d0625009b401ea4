import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import {
  ask,
  compileSaved,
  type Filter,
  type Filtered,
  filterSteps,
  type Judgement,
  stepsAtOnce,
  subjectOf,
  wantsOf,
} from '../subscription.ts';
import { type FilterRow, listFilters } from './filter-queries.ts';

const [refused, passed, notAsked] = [0, 1, 2];

/** The filters of one tenant, compiled. Equal filters of several endpoints are one. */
type Known = {
  readonly loadedAtMillis: number;
  readonly places: Judgement['places'];
  readonly hasOrder: boolean;
  readonly filters: readonly (Pick<FilterRow, 'wants'> & { readonly passes: Filter | null })[];
};

/** After so long the filters of a tenant are read again, because some may be nobody's any more. */
const freshMillis = 60_000;
/** So many filters are kept in all, those of the tenants that reported last. */
const mostKept = 20_000;

/**
 * Applies the filters of endpoints to incidents, before and outside the transaction that stores them. What it knows may be
 * old: the statement compares the key of each filter, and whatever it finds not judged makes it store nothing, so that the
 * filters are read anew. It also knows who has ordered endpoints. A tenant without filters and order costs nothing.
 */
export class IncidentFilters {
  readonly #db: Queryable;
  readonly #clock: Clock;
  readonly #log: Pick<Log, 'warn'>;
  readonly #known = new LRUCache<string, Known>({
    maxSize: mostKept,
    sizeCalculation: ({ filters }) => Math.min(mostKept, Math.max(1, filters.length)),
  });
  readonly #loading = new Map<string, Promise<void>>();

  constructor(db: Queryable, { clock, log }: { clock: Clock; log: Pick<Log, 'warn'> }) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
  }

  /** What the filters of the tenant say of an incident; null where none is known. */
  async judge(
    { id, tenant }: { id: string; tenant: string },
    incident: Filtered,
  ): Promise<Judgement | null> {
    const known = await this.#freshOf(tenant);
    if (known === undefined) return null;
    const subject = subjectOf(incident);
    const wanted = new Set(wantsOf(incident.type));
    const isAsked = ({ wants }: Pick<FilterRow, 'wants'>) =>
      wants.some(
        ({ types, stores }) =>
          types.some((type) => wanted.has(type)) &&
          (stores === null || (incident.store !== null && stores.includes(incident.store))),
      );
    const verdicts = Buffer.alloc(known.filters.length, notAsked);
    let [left, pauseAt, unfiltered]: [number, number, number] = [
      filterSteps.all,
      filterSteps.all - stepsAtOnce,
      0,
    ];
    for (const [number, filter] of known.filters.entries()) {
      if (!isAsked(filter)) continue;
      const { passes, isUnfiltered, steps } = ask(filter.passes, subject, left);
      left -= steps;
      if (isUnfiltered) unfiltered += 1;
      verdicts[number] = passes ? passed : refused;
      if (left < pauseAt) {
        pauseAt = left - stepsAtOnce;
        await setImmediate();
      }
    }
    if (unfiltered > 0) {
      const told = { incident: id, tenant, filters: unfiltered };
      this.#log.warn(
        told,
        'filters of endpoints cost too much: the incident goes there unfiltered',
      );
    }
    return { places: known.places, verdicts, hasOrder: known.hasOrder };
  }

  /** Reads the filters of a tenant anew, once for all that ask at the same time. */
  reload(tenant: string): Promise<void> {
    const loading = this.#loading.get(tenant) ?? this.#load(tenant);
    this.#loading.set(tenant, loading);
    return loading.finally(() => this.#loading.delete(tenant));
  }

  async #freshOf(tenant: string): Promise<Known | undefined> {
    const known = this.#known.get(tenant);
    if (known === undefined || this.#clock() - known.loadedAtMillis < freshMillis) return known;
    await this.reload(tenant);
    return this.#known.get(tenant);
  }

  async #load(tenant: string): Promise<void> {
    const loadedAtMillis = this.#clock();
    const rows = await listFilters(this.#db, tenant);
    this.#known.delete(tenant);
    if (rows.length === 0) return;
    const filters = rows.flatMap(({ key, filter, wants }) =>
      filter === null ? [] : [{ key, wants, passes: compileSaved(filter, this.#log) }],
    );
    this.#known.set(tenant, {
      loadedAtMillis,
      places: JSON.stringify(Object.fromEntries(filters.map(({ key }, place) => [key, place]))),
      filters,
      hasOrder: rows.some((row) => row.has_order),
    });
  }
}
