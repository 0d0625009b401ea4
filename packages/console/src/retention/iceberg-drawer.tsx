import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { IcebergTable } from '../api/types.ts';
import { CliBlock, Copied } from '../ui/copy-button.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatCount } from '../ui/format.ts';
import { Loaded } from '../ui/list.tsx';
import { Instant } from '../ui/marks.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { useRead } from '../ui/poll.tsx';
import { countOf } from '../ui/words.ts';
import { retentionKey } from './calls.ts';
import { readerLines, snapshotOf } from './iceberg-lines.ts';

/** The drawer of the cold records as a table of Apache Iceberg: what its snapshot holds, and how others read it. */
export function IcebergDrawer({ onClose }: { onClose: () => void }): ReactNode {
  // Each load may write a snapshot, so it is read when somebody asks, and not again and again.
  const table = useRead<IcebergTable>(
    [...retentionKey, 'iceberg'],
    '/iceberg/v1/namespaces/svcctl/tables/records',
    { everyMillis: null, staleMillis: 0 },
  );
  return (
    <Panel
      kind="ICEBERG TABLE"
      title="svcctl.records"
      id="iceberg"
      closeLabel="Close the table"
      onClose={onClose}
    >
      <PanelBody label="The table">
        <p className="below-12">
          The cold records as a table of Apache Iceberg, which other engines read without svcctl.
          Hot records are not in it.
        </p>
        <Loaded query={table} name="the table" rows={8}>
          {(loaded) => (
            <>
              <Snapshot table={loaded} />
              <Button
                size="compact-sm"
                loading={table.isFetching}
                onClick={() => void table.refetch()}
              >
                LOOK AGAIN
              </Button>
              <Readers table={loaded} />
            </>
          )}
        </Loaded>
      </PanelBody>
    </Panel>
  );
}

function Snapshot({ table }: { table: IcebergTable }): ReactNode {
  const snapshot = snapshotOf(table);
  if (snapshot === undefined || snapshot.records === 0) {
    return (
      <p className="below-12">
        <strong>The table is empty:</strong> no record is cold yet. The next run moves those that
        are due.
      </p>
    );
  }
  const { at, records, files, operation, kept } = snapshot;
  return (
    <Facts
      facts={{
        snapshot: <Instant at={at} />,
        'made by': operation,
        records: formatCount(records),
        files: countOf(files, 'segment'),
        'older ones kept': kept === 0 ? 'none' : countOf(kept, 'snapshot'),
        id: <code>{snapshot.id}</code>,
      }}
    />
  );
}

/** The lines by which others read the table, to be copied. */
function Readers({ table }: { table: IcebergTable }): ReactNode {
  const { catalogue, pyiceberg, duckdb, scan } = readerLines(table, window.location.origin);
  return (
    <section aria-label="For readers" className="stack gap-12 above-12">
      <div>
        <h3 className="caps below-8">The catalogue</h3>
        <Copied text={catalogue} label="Copy the address" />
        <p className="muted small above-8">
          The token needs the scope enrichment:read; a limited one sees its tenants. The files are
          read from the store itself, with keys of the reader.
        </p>
      </div>
      <CliBlock title="Python: pyiceberg" line={pyiceberg} />
      <CliBlock title="DuckDB, by the catalogue" line={duckdb} />
      {scan !== null && <CliBlock title="DuckDB, this snapshot" line={scan} />}
      <CliBlock title="The same on the command line" line="svcctl retention table" />
    </section>
  );
}
