import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { DatasetVersion, Page } from '../../api/types.ts';
import { formatCount, formatInstant, type Zone } from '../../ui/format.ts';
import { AbandonedIcon, DeliveredIcon, FreezeIcon, PendingIcon } from '../../ui/icons.tsx';
import { whereFree } from '../../ui/keys.ts';
import { CutText } from '../../ui/marks.tsx';
import { type Column, idOf } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { List } from '../../ui/table/list.tsx';
import { countOf } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { ScopedButton } from '../node-actions.tsx';
import tagClasses from '../tags/tags.module.css';
import { DatasetMark } from '../tags/tags-view.tsx';
import classes from './versions.module.css';

type VersionsViewProps = {
  tenant: string;
  versions: UseQueryResult<Page<DatasetVersion>>;
  /** Id of the version that the drawer shows. */
  open: string | undefined;
  mayExport: boolean;
  onOpen: (id: string) => void;
  onExport: (id: string) => void;
  onFreeze: () => void;
};

/** The list of versions of the chosen tenant, latest first. */
export function VersionsView(props: VersionsViewProps): ReactNode {
  const { tenant, versions, mayExport, onExport } = props;
  const [zone] = useZone();
  const columns = useMemo(
    () => (mayExport ? [...columnsFor(zone), exportColumn(onExport)] : columnsFor(zone)),
    [zone, mayExport, onExport],
  );
  const page = versions.data;
  return (
    <div className="view">
      <div className={`row wrap between gap-8 flex-none line-under ${tagClasses.bar}`}>
        <p className="muted">{page === undefined ? '' : headText(tenant, page)}</p>
        <ScopedButton scope="datasets:write" icon={<FreezeIcon />} onClick={props.onFreeze}>
          FREEZE…
        </ScopedButton>
      </div>
      <List
        queries={[versions]}
        name="versions"
        placeholders={4}
        empty={null}
        list="versions"
        label="Dataset versions"
        columns={columns}
        rows={page?.data ?? []}
        keyOf={idOf}
        open={props.open}
        onOpen={props.onOpen}
      />
    </div>
  );
}

function headText(tenant: string, { data, next_cursor }: Page<DatasetVersion>): string {
  if (data.length === 0) {
    return `No version of ${tenant} yet. FREEZE… keeps what is tagged now as a version that never changes.`;
  }
  const versions = countOf(data.length, 'version');
  return next_cursor === null
    ? `${versions} of ${tenant}, the latest first`
    : `The latest ${versions} of ${tenant}`;
}

const column = columnsOf<DatasetVersion>();

function columnsFor(zone: Zone): readonly Column<DatasetVersion>[] {
  return [
    column.own('name', 'NAME', 104, {
      isMain: true,
      card: 'title',
      cell: ({ name }) => (
        <strong className="bold">
          <CutText text={name} />
        </strong>
      ),
    }),
    column.own('dataset', 'DATASET', 104, {
      card: 'line',
      cell: ({ dataset }) => <DatasetMark dataset={dataset} />,
    }),
    column.own('records', 'RECORDS', 120, {
      isFigure: true,
      card: 'fact',
      cell: recordsText,
      value: leftOf,
    }),
    column.own('shares', 'SPLIT', 80, {
      rank: 2,
      card: 'fact',
      cell: sharesText,
      value: (version) => (version.shares === null ? null : sharesText(version)),
    }),
    column.own('state', 'STATE', 132, {
      card: 'line',
      cell: (version) => <VersionState version={version} />,
    }),
    column.own('created_at', `FROZEN (${zoneName(zone)})`, 136, {
      rank: 1,
      card: 'note',
      cell: ({ created_at }) => (
        <span title={formatInstant(created_at, zone)}>
          {formatInstant(created_at, zone).slice(0, 16)}
        </span>
      ),
    }),
    column.text('created_by', 'BY', 96, { rank: 3, card: 'fact' }),
  ];
}

function exportColumn(onExport: (id: string) => void): Column<DatasetVersion> {
  return column.action(96, (version, tabIndex) => (
    <ExportButton
      version={version}
      size="compact-xs"
      tabIndex={tabIndex}
      onExport={() => onExport(version.id)}
    />
  ));
}

/** The button that exports a version. One that could not be counted has nothing that proves its file. */
export function ExportButton(props: {
  version: DatasetVersion;
  size?: string;
  tabIndex?: number;
  onExport: () => void;
}): ReactNode {
  const { name, state } = props.version;
  const hasFailed = state === 'failed';
  return (
    <Button
      {...(props.size !== undefined && { size: props.size })}
      tabIndex={props.tabIndex ?? 0}
      aria-label={`EXPORT ${name}`}
      title={hasFailed ? 'It could not be counted, so nothing would prove the file' : undefined}
      {...whereFree(!hasFailed, props.onExport)}
    >
      EXPORT
    </Button>
  );
}

const marks = {
  counting: [PendingIcon, ''],
  ready: [DeliveredIcon, 'ok'],
  failed: [AbandonedIcon, 'danger'],
} as const;

const stateWords: Readonly<Record<DatasetVersion['state'], string>> = {
  counting: 'its records are read, and compared with the counters where these can tell',
  ready: 'all records were read; they are what was frozen',
  failed: 'the records read are not those that were counted',
};

/** The state of a version as a word with a shape and a colour, and whether records of it were erased or deleted. */
export function VersionState({ version }: { version: DatasetVersion }): ReactNode {
  const { state, change } = version;
  const [Icon, tone] = marks[state];
  return (
    <span className="mark">
      <span className={`mark ${tone}`} title={stateWords[state]}>
        <Icon />
        {state}
      </span>
      {change !== null && (
        <span className={classes.change} title="Less is left of it than was frozen">
          {change}
        </span>
      )}
    </span>
  );
}

/** How many records are left, where that is fewer than were frozen. */
function leftOf(version: DatasetVersion): number | null {
  return version.current?.count ?? version.count;
}

/** The shares of the splits, such as `80/10/10`, or `–` when there are none. */
export function sharesText({ shares }: DatasetVersion): string {
  return shares === null ? '–' : `${shares.train}/${shares.validation}/${shares.test}`;
}

function recordsText(version: DatasetVersion): string {
  const [left, { count }] = [leftOf(version), version];
  if (left === null || count === null) return '…';
  return left === count ? formatCount(count) : `${formatCount(left)} of ${formatCount(count)}`;
}
