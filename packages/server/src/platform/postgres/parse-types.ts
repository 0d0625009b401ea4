import pg from 'pg';

const int8 = 20;
const dateTypes = new Set([1082, 1114, 1184]);

/**
 * Makes a number of a bigint, because counts and sizes stay below 2^53, and keeps dates and times as the text that
 * PostgreSQL sent.
 */
export function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === int8) return Number;
  if (dateTypes.has(oid)) return (value: string) => value;
  return pg.types.getTypeParser(oid, format);
}
