import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { formatInstant, type Zone } from '../../ui/format.ts';
import { Empty } from '../../ui/list.tsx';
import { CutText } from '../../ui/marks.tsx';
import { type Column, offered } from '../../ui/table/column.ts';
import { headPx } from '../../ui/table/column-layout.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { List } from '../../ui/table/list.tsx';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { type FieldPath, fieldOf, findFields } from './fields.ts';
import type { RecordLine, RecordsPage } from './records-page.ts';

type RecordsTableProps = {
  page: UseQueryResult<RecordsPage>;
  hasStore: boolean;
  isNewestFirst: boolean;
  isFiltered: boolean;
  /** What came while LIVE is on, above the rows of the page; null while it is off. */
  live: readonly RecordLine[] | null;
  /** Key of the record that the drawer shows. */
  open: string | undefined;
  /** Identifies the page: when it changes, the table scrolls to its top. */
  place: string;
  onOpen: (key: string) => void;
  onClearFilters: () => void;
};

/** The table with one page of records. */
export function RecordsTable(props: RecordsTableProps): ReactNode {
  const { page, hasStore, isNewestFirst, live } = props;
  const [zone] = useZone();
  const shown = page.data?.lines ?? noLines;
  const lines = useMemo(() => withLive(live, shown, isNewestFirst), [live, shown, isNewestFirst]);
  const columns = useMemo(
    () => [...columnsFor(zone, hasStore), ...fieldColumns(lines)],
    [zone, hasStore, lines],
  );
  return (
    <List
      queries={[page]}
      name="records"
      placeholders={12}
      empty={<NoRecords {...props} />}
      list="records"
      label="Records"
      columns={columns}
      rows={lines}
      keyOf={keyOf}
      open={props.open}
      place={props.place}
      onOpen={props.onOpen}
    />
  );
}

const noLines: readonly RecordLine[] = [];

/** The rows that came live, and below them those of the page, each once, if they go on in the same order. */
function withLive(
  live: readonly RecordLine[] | null,
  lines: readonly RecordLine[],
  isNewestFirst: boolean,
): readonly RecordLine[] {
  if (live === null) return lines;
  if (!isNewestFirst) return live;
  const keys = new Set(live.map(keyOf));
  return [...live, ...lines.filter(({ key }) => !keys.has(key))];
}

const keyOf = ({ key }: RecordLine) => key;

const column = columnsOf<RecordLine>();

/** The columns. There is one for the store only when the node has several. */
function columnsFor(zone: Zone, hasStore: boolean): readonly Column<RecordLine>[] {
  return [
    column.own('occurred_at', `OCCURRED AT (${zoneName(zone)})`, 190, {
      card: 'title',
      cell: ({ occurred_at: at }) => <time dateTime={at}>{formatInstant(at, zone)}</time>,
    }),
    ...(hasStore ? [textColumn('store', 68, { card: 'line' })] : []),
    {
      ...textColumn('event_id', 96, { card: 'line' }),
      name: 'EVENT',
      isMain: true,
      cell: ({ event_id }) => (
        <span className="small mono">
          <Text text={event_id} />
        </span>
      ),
    },
    textColumn('kind', 88, { rank: 2, card: 'note' }),
    textColumn('source', 76, { rank: 3, card: 'note' }),
    textColumn('model', 80, { rank: 5, card: 'note' }),
    column.own('confidence', 'CONFIDENCE', 96, {
      isFigure: true,
      rank: 4,
      card: 'fact',
      cell: ({ confidence }) => confidence ?? '–',
    }),
    column.bytes('bytes', 'BYTES', 72, { rank: 1, card: 'note' }),
  ];
}

/** A column for each field of the enrichments of the page, offered in the menu of the columns. */
function fieldColumns(lines: readonly RecordLine[]): Column<RecordLine>[] {
  return findFields(lines.map(({ enrichment }) => enrichment)).map((path) => fieldColumn(path));
}

function fieldColumn(path: FieldPath): Column<RecordLine> {
  const value = ({ enrichment }: RecordLine) => fieldOf(enrichment, path);
  const name = path.join('.').toUpperCase();
  return {
    id: `enrichment.${path.join('.')}`,
    name,
    width: Math.min(240, Math.max(104, headPx(name))),
    isText: true,
    rank: offered,
    value,
    cell: (line) => <Text text={value(line)} />,
  };
}

function textColumn(
  field: 'store' | 'event_id' | 'kind' | 'source' | 'model',
  width: number,
  rest: Pick<Column<RecordLine>, 'rank' | 'card'>,
): Column<RecordLine> {
  return {
    id: field,
    name: field.toUpperCase(),
    width,
    isText: true,
    ...rest,
    cell: (line) => <Text text={line[field]} />,
    value: (line) => line[field],
  };
}

function Text({ text }: { text: string | null }): ReactNode {
  if (text === null) return <span className="muted">–</span>;
  return <CutText text={text} />;
}

/** Says why there are no rows. A filtered page may be empty although more follow. */
function NoRecords({ page, isFiltered, live, onClearFilters }: RecordsTableProps): ReactNode {
  if (live !== null) {
    return <Empty title="Waiting for records. They appear here as they are stored." />;
  }
  if (page.data?.next_cursor) {
    return <Empty title="No match in this stretch of records. NEXT reads on." />;
  }
  return (
    <Empty
      title={
        page.data?.fault !== undefined
          ? 'The filter cannot be read'
          : isFiltered
            ? 'No records with these filters'
            : 'No records here'
      }
      onClear={isFiltered ? onClearFilters : undefined}
    />
  );
}
