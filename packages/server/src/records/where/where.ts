// What a `where` says, as a tree. `parse.ts` makes it, `queries.ts` turns it into a condition of PostgreSQL and `cold-sql.ts`
// into one of DuckDB. Every part of it is true or false of a record, never unknown: docs/where.md says when.

/** The columns of a record, and what their values are. The last four of text may be missing. */
export const columnTypes = {
  tenant: 'text',
  store: 'text',
  event_id: 'text',
  occurred_at: 'time',
  recorded_at: 'time',
  kind: 'text',
  source: 'text',
  model: 'text',
  confidence: 'number',
  bytes: 'number',
} as const;
export type Column = keyof typeof columnTypes;

/** What is compared: a column, or the value at a path in the enrichment. */
export type Place = { readonly column: Column } | { readonly path: readonly string[] };

/** Columns by which records can be grouped, as by a path: they are texts that several records share. */
export const groupColumns = ['store', 'kind', 'source', 'model'] as const satisfies Column[];

export type Sign = '=' | '<' | '<=' | '>' | '>=';

/**
 * What a value must be. Numbers are spelled as they were written, times as `formatMicros` spells them, and words are
 * `true`, `false` and `null`. With `=` one of the values must be equal; with any other sign there is one value.
 */
export type Check =
  | { readonly type: 'text' | 'number' | 'time'; readonly sign: Sign; readonly values: Values }
  | { readonly type: 'word'; readonly values: Values }
  | { readonly type: 'like'; readonly pattern: string };
type Values = readonly [string, ...string[]];

/** A comparison holds when one of the checks does; negated, when there is a value and none of them does. */
export type Comparison = {
  readonly op: 'compare';
  readonly of: Place;
  /** Whether the value is an array, of which some element must fit. */
  readonly isAny: boolean;
  readonly isNegated: boolean;
  readonly checks: readonly Check[];
};

export type Where =
  | { readonly op: 'and' | 'or'; readonly terms: readonly Where[] }
  | { readonly op: 'not'; readonly term: Where }
  | { readonly op: 'exists'; readonly of: Place }
  | Comparison;
