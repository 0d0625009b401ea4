import { type ReactNode, useState } from 'react';
import type { DatasetRow, Page } from '../api/types.ts';
import { TextFilter } from '../ui/filters.tsx';
import { formatCount, visibleText } from '../ui/format.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import { SmallTable } from '../ui/numbers.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { panelHref } from '../ui/panel-place.ts';
import { useRead } from '../ui/poll.tsx';

const mostTenants = 50;

/** The tenants, each a link to the export of its records, where a store, days and filters are chosen. */
export function NewExportPanel({ onClose }: { onClose: () => void }): ReactNode {
  const [q, setQ] = useState<string>();
  const params = { level: 'tenant', q, limit: mostTenants };
  const tenants = useRead<Page<DatasetRow>>(['tenants', params], '/enrichment/datasets', {
    params,
    everyMillis: null,
  });
  const failure = useFailure(tenants);
  const rows = tenants.data?.data;
  return (
    <Panel
      kind="NEW EXPORT"
      title="of which tenant?"
      id="new-export"
      closeLabel="Close the new export"
      onClose={onClose}
    >
      <PanelBody>
        <TextFilter
          className="below-8"
          label="Beginning of the tenant"
          placeholder="Find tenant"
          value={q}
          onChange={setQ}
        />
        {failure !== null && rows === undefined && (
          <FailurePanel error={failure} onRetry={() => void tenants.refetch()} />
        )}
        {rows !== undefined && rows.length > 0 && (
          <SmallTable
            head={['tenant', 'records']}
            rows={rows.map(({ tenant, count }) => ({
              key: tenant,
              cells: [
                <a
                  key="tenant"
                  href={panelHref('/records', { kind: 'export', id: '' }, { tenant })}
                >
                  {visibleText(tenant)}
                </a>,
                formatCount(count),
              ],
            }))}
          />
        )}
        <p className="muted small above-8" role="status">
          {rows?.length === 0 && (q === undefined ? 'No records yet.' : 'No tenant begins so.')}
          {tenants.data?.next_cursor && `The first ${mostTenants}: type how yours begins.`}
        </p>
        <p className="muted small above-8">
          The store, the days, the format and what must hold of the records are chosen next.
        </p>
      </PanelBody>
    </Panel>
  );
}
