// What a `where` says, as a tree: `parse.ts` makes it, `evaluate.ts` applies it to JSON text, and records/where/ turns it
// into SQL. Every part of it is true or false, never unknown: docs/where.md says when.

/** What the values of a column are. */
export type ColumnType = 'text' | 'number' | 'time';

/** What a `where` is about: records, or incidents. */
export type Vocabulary<Column extends string> = {
  /** The object in which paths begin. Its name may stand in front of a path, and then it is no column. */
  readonly object: string;
  readonly columns: Readonly<Record<Column, ColumnType>>;
};

/** What is compared: a column, or the value at a path in the object. */
export type PlaceOf<Column extends string> =
  | { readonly column: Column }
  | { readonly path: readonly string[] };

export type Sign = '=' | '<' | '<=' | '>' | '>=';

/**
 * What a value must be. Numbers are spelled as they were written, times as `formatMicros` spells them, and words are
 * `true`, `false` and `null`. With `=` one of the values must be equal; with any other sign there is one value.
 */
export type Check =
  | { readonly type: ColumnType; readonly sign: Sign; readonly values: Values }
  | { readonly type: 'word'; readonly values: Values }
  | { readonly type: 'like'; readonly pattern: string };
type Values = readonly [string, ...string[]];

/** A comparison holds when one of the checks does; negated, when there is a value and none of them does. */
export type ComparisonOf<Column extends string> = {
  readonly op: 'compare';
  readonly of: PlaceOf<Column>;
  /** Whether the value is an array, of which some element must fit. */
  readonly isAny: boolean;
  readonly isNegated: boolean;
  readonly checks: readonly Check[];
};

export type WhereOf<Column extends string> =
  | { readonly op: 'and' | 'or'; readonly terms: readonly WhereOf<Column>[] }
  | { readonly op: 'not'; readonly term: WhereOf<Column> }
  | { readonly op: 'exists'; readonly of: PlaceOf<Column> }
  | ComparisonOf<Column>;
