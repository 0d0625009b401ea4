import { invalidInput } from '../../kernel/errors.ts';
import { WhereParser } from '../../kernel/where/parse.ts';
import {
  type Column,
  columnTypes,
  groupColumns,
  type Place,
  recordVocabulary,
  type Where,
} from './where.ts';

/**
 * Reads a `where`. Throws 400 `request_invalid` with the fault `where_invalid` at `path`, whose `at` is its position
 * from 1. Without a path it was checked, and may be two that `joinWheres` joined.
 */
export function parseWhere(text: string, path?: string): Where {
  const wheres = path === undefined ? 2 : 1;
  return new WhereParser(recordVocabulary, text, path ?? '?where', wheres).read();
}

/** Says in one text what two wheres say; each may be missing. */
export function joinWheres(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || b === undefined ? (a ?? b) : `(${a}) and (${b})`;
}

/** Reads by what records are grouped: a column or a path. Throws 400 `request_invalid`, `where_invalid` at `path`. */
export function parseGroup(text: string, path = '/group_by'): Place {
  return new WhereParser(recordVocabulary, text, path).readPlace(groupColumns);
}

/** Reads a path in the enrichment. Throws 400 `request_invalid` with the fault `where_invalid` at `path`. */
export function parsePath(text: string, path: string): readonly string[] {
  const columns = Object.keys(columnTypes) as Column[];
  const place = new WhereParser(recordVocabulary, text, path).readPlace(columns);
  if ('path' in place) return place.path;
  throw invalidInput(
    path,
    `${place.column} is a column; a key of the enrichment that has its name is enrichment.${place.column}`,
    'where_invalid',
  );
}
