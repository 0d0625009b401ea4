import type { ComparisonOf, PlaceOf, Vocabulary, WhereOf } from '../../kernel/where/where.ts';

// What a `where` says of a record. `queries.ts` turns it into a condition of PostgreSQL, `cold-sql.ts` into one of DuckDB.

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

export const recordVocabulary: Vocabulary<Column> = { object: 'enrichment', columns: columnTypes };

/** Columns by which records can be grouped, as by a path: they are texts that several records share. */
export const groupColumns = ['store', 'kind', 'source', 'model'] as const satisfies Column[];

export type Place = PlaceOf<Column>;
export type Comparison = ComparisonOf<Column>;
export type Where = WhereOf<Column>;
