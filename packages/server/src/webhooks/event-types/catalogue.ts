import type { Clock } from '../../kernel/clock.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { nearestOf } from '../../kernel/nearest.ts';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { CatalogueType } from '../contract.ts';
import { ownTypes, type UnknownTypes } from '../values.ts';
import { createWithin, type Misfit, misfitsOf } from './fit.ts';
import { listTypes } from './queries.ts';

export const mostTypes = 1000;
/** For so long a process may not know of a change; a report is refused only by what was read within the second time. */
const [freshMillis, surelyMillis] = [10_000, 1000];
/** A schema that took too long is left alone for this time: each report would cost as much. */
const restMillis = 60_000;

type Known = ReadonlyMap<string, CatalogueType>;

/** Compares reports with the catalogue, before and outside the transaction that stores them. */
export class Catalogue {
  readonly #db: Queryable;
  readonly #options: { clock: Clock; log: Pick<Log, 'warn'>; mode: UnknownTypes };
  readonly #within = createWithin();
  readonly #resting = new Map<string, number>();
  /** The types as they are, or are being, read. */
  #read: { readonly types: Promise<Known>; readonly atMillis: number } | undefined;

  constructor(
    db: Queryable,
    options: { clock: Clock; log: Pick<Log, 'warn'>; mode: UnknownTypes },
  ) {
    this.#db = db;
    this.#options = options;
  }

  /**
   * What a reporter is warned of: a type that is not in the catalogue or deprecated, data that does not fit. Throws 400
   * `request_invalid` instead where the setting refuses. What the service reports itself needs no entry.
   */
  async look(report: { type: string; data: unknown }): Promise<string[]> {
    const { mode } = this.#options;
    if (mode === 'accept' || report.type.startsWith(ownTypes)) return [];
    let faults = await this.#faultsOf(report, freshMillis);
    if (faults.length > 0) faults = await this.#faultsOf(report, surelyMillis);
    const [fault] = faults;
    if (fault !== undefined && mode === 'refuse') {
      const detail = faults.map(({ path, message }) => `${path.slice(1)}: ${message}`).join('; ');
      const errors = faults.map((each) => ({ ...each, code: 'value_invalid' }));
      throw faults.length === 1
        ? invalidInput(fault.path, fault.message)
        : new AppError('request_invalid', { detail, errors });
    }
    const isDeprecated = (await this.#typesOf(freshMillis)).get(report.type)?.deprecated === true;
    return [
      ...faults.map(({ path, message }) => `${path.slice(1)}: ${message}`),
      ...(isDeprecated ? [`type: ${report.type} is deprecated`] : []),
    ];
  }

  async #faultsOf(
    { type, data }: { type: string; data: unknown },
    mostMillis: number,
  ): Promise<readonly Misfit[]> {
    const types = await this.#typesOf(mostMillis);
    const known = types.get(type);
    if (known === undefined) {
      const near = nearestOf(type, types.keys());
      const meant = near === undefined ? '' : `; did you mean ${near}?`;
      const message = `${type} is not in the catalogue of event types${meant}`;
      return [{ path: '/type', message }];
    }
    if (known.schema === null || this.#isResting(type)) return [];
    const misfits = await misfitsOf(this.#within, { schema: known.schema, data });
    if (misfits === null) {
      this.#resting.set(type, this.#options.clock() + restMillis);
      this.#options.log.warn(
        { type },
        'a schema takes too long: reports of its type are not looked at for a minute',
      );
    }
    return (misfits ?? []).map(({ path, message }) => ({ path: `/data${path}`, message }));
  }

  #isResting(type: string): boolean {
    return (this.#resting.get(type) ?? 0) > this.#options.clock();
  }

  /** The types as they were at most so long ago. All that ask at the same time are told by one look. */
  #typesOf(mostMillis: number): Promise<Known> {
    const now = this.#options.clock();
    if (this.#read !== undefined && now - this.#read.atMillis <= mostMillis)
      return this.#read.types;
    const types = this.#list();
    this.#read = { types, atMillis: now };
    return types;
  }

  async #list(): Promise<Known> {
    try {
      const rows = await listTypes(this.#db, { after: null, limit: mostTypes });
      return new Map(rows.map((row) => [row.type, row]));
    } catch (error) {
      this.#read = undefined;
      throw error;
    }
  }
}
