import { compileWhere, type Evaluate } from '../kernel/where/evaluate.ts';
import { JsonTree } from '../kernel/where/json-tree.ts';
import { WhereParser } from '../kernel/where/parse.ts';
import type { Vocabulary, WhereOf } from '../kernel/where/where.ts';
import type { Log } from '../platform/log.ts';

type Column = 'type' | 'store' | 'occurred_at';

/** What a filter says of an incident: its columns, and the keys of its data. */
const vocabulary: Vocabulary<Column> = {
  object: 'data',
  columns: { type: 'text', store: 'text', occurred_at: 'time' },
};

/** Reads the filter of an endpoint. Throws 400 `request_invalid` (`where_invalid`), also for one that is too large. */
export function parseFilter(text: string): WhereOf<Column> {
  return new WhereParser(vocabulary, text, '/where').read();
}

export type Filter = Evaluate<Column>;

export function compileFilter(text: string): Filter {
  return compileWhere(parseFilter(text));
}

/** A filter that this release cannot read, because a later one has saved it, is null: it lets everything through. */
export function compileSaved(text: string, log: Pick<Log, 'warn'>): Filter | null {
  try {
    return compileFilter(text);
  } catch (error) {
    log.warn({ err: error, filter: text }, 'a filter of an endpoint cannot be read');
    return null;
  }
}

/** An incident as filters look at it. Its data is JSON text, with numbers as they were spelled. */
export type Filtered = {
  readonly type: string;
  readonly store: string | null;
  /** As `formatMicros` spells it. */
  readonly occurredAt: string;
  readonly data: string;
};

/** An incident that was stored, as filters look at it. `body` is what is sent of it. */
export function filteredOf<T extends { occurred_at: string; body: string }>({
  occurred_at: occurredAt,
  body,
  ...row
}: T): Omit<T, 'occurred_at' | 'body'> & Pick<Filtered, 'occurredAt' | 'data'> {
  return { ...row, occurredAt, data: new JsonTree(body).at('data')?.text ?? 'null' };
}

/** What many filters look at, of which each part is cut out of the text once. */
export function subjectOf({ type, store, occurredAt, data }: Filtered): Parameters<Filter>[0] {
  const json = (text: string) => new JsonTree(JSON.stringify(text));
  return {
    object: new JsonTree(data),
    columns: {
      type: json(type),
      store: store === null ? undefined : json(store),
      occurred_at: json(occurredAt),
    },
  };
}

/** The steps of one filter for an incident, and of all of its endpoints; who goes beyond gets it unfiltered. */
export const filterSteps = { each: 20_000, all: 1_000_000 };
/** After so many steps, some milliseconds, others have their turn. */
export const stepsAtOnce = 20_000;

/** Asks a filter with at most `mostSteps`. `isUnfiltered`: it passes because it cannot be read, or costs too much. */
export function ask(
  filter: Filter | null,
  subject: Parameters<Filter>[0],
  mostSteps: number,
): { passes: boolean; isUnfiltered: boolean; steps: number } {
  const given = Math.min(mostSteps, filterSteps.each);
  const budget = { steps: given };
  const verdict = filter === null ? null : filter(subject, budget);
  return {
    passes: verdict !== false,
    isUnfiltered: verdict === null,
    steps: given - Math.max(budget.steps, 0),
  };
}

/**
 * What the filters of a tenant say of an incident, for the statement that stores it: one byte for each filter, 1 where it
 * passes and 0 where not, and 2 where nobody was known to ask. `places` is a JSON object that says by the key of a filter
 * where its byte is; the same one serves many incidents.
 */
export type Judgement = {
  readonly places: string;
  readonly verdicts: Buffer;
  /** Whether an endpoint of the tenant is ordered, as far as is known. */
  readonly hasOrder: boolean;
};

export function isPattern(wanted: string): boolean {
  return wanted.endsWith('.*');
}

/** All that endpoints may want of which this type is one: `a.b.c`, `*`, `a.*` and `a.b.*`. */
export function wantsOf(type: string): string[] {
  const segments = type.split('.');
  const patterns = segments.slice(1).map((_, n) => `${segments.slice(0, n + 1).join('.')}.*`);
  return [type, '*', ...patterns];
}
