import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { parseSearch } from '../../ui/hash-state.ts';
import { validateIncidentsSearch } from '../search.ts';
import { KeptBack } from './filter-preview.tsx';

test('an incident that would be kept back leads to itself', () => {
  const row = { id: 'inc_1', type: 'fall', store: null, created_at: null, passes: false };
  const tried = { looked_at: 1, passed: 0, data: [{ ...row, reason: 'where' as const }] };
  const html = renderToStaticMarkup(createElement(KeptBack, { tried }));
  const [, query = ''] = /href="#\/incidents([^"]*)"/.exec(html) ?? [];
  expect(validateIncidentsSearch(parseSearch(query))).toEqual({ panel: 'inc/inc_1' });
});
