import { expect, test } from 'vitest';
import { coldWhereSql } from './cold-sql.ts';
import { parseWhere } from './parse.ts';
import { whereSql } from './queries.ts';

test('a text is translated only where the pattern has letters to fold', () => {
  const calls = (pattern: string) => {
    const where = parseWhere(`event_id ilike "${pattern}"`);
    return [whereSql(where).sql, coldWhereSql(where)].map((text) => text.includes('translate('));
  };
  expect(calls('%4_2%')).toEqual([false, false]);
  expect(calls('%4a2%')).toEqual([true, true]);
});
