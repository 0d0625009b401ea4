import { MantineProvider } from '@mantine/core';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { incidentFilters } from '../api/views.ts';
import { ListFilters } from '../ui/list-filters.tsx';
import { withoutField } from './only-tenant.ts';

test('a filter without a field is shown and removed where a link has set it', () => {
  const filters = withoutField(withoutField(incidentFilters, 'tenant'), 'endpoint');
  const markup = (search: object) => {
    const list = { label: 'Filters', filters, search, update: () => undefined };
    return renderToStaticMarkup(
      createElement(MantineProvider, null, createElement(ListFilters, list)),
    );
  };
  const none = markup({});
  expect(none).toContain('Store, exactly');
  expect(none).not.toMatch(/Tenant|Endpoint/);
  expect(none).toContain('data-hidden="true" aria-label="Clear filters"');
  const linked = markup({ tenant: 'TX', endpoint: 'ep_1' });
  expect(linked).toContain('Tenant TX ×, remove this filter');
  expect(linked).toContain('Endpoint ep_1 ×, remove this filter');
  expect(linked).toContain('data-hidden="false" aria-label="Clear filters"');
  expect(linked).not.toMatch(/(Tenant|Endpoint), exactly/);
});
