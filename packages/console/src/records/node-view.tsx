import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { DatasetRow } from '../api/types.ts';
import { BarChart, type NameRange } from '../ui/chart/bar-chart.tsx';
import { breakAxis } from '../ui/chart/bar-picture.tsx';
import { type DayRange, dayOf } from '../ui/days.ts';
import { lazyPage, lazyPiece, useIdlePreload } from '../ui/lazy-part.tsx';
import { ViewSwitch } from '../ui/list-page.tsx';
import { useSession } from '../ui/session.ts';
import type { ChangeSearch } from '../ui/use-search.ts';
import { pathText } from '../ui/words.ts';
import { UtcDays } from '../ui/zone-switch.tsx';
import { useDays, useSpan } from './calendar/calendar-layout.ts';
import { useMonths } from './facts/use-facts.ts';
import { useFields } from './facts/use-fields.ts';
import pageClasses from './page.module.css';
import type { RecordsPanel } from './panel-parts.ts';
import {
  changeFilters,
  changeSearch,
  chosenDays,
  type NodePath,
  namesOf,
  type RecordsSearch,
  type RecordsView,
  recordsViews,
  sliceOf,
  wholeMonthOf,
  windowText,
} from './search.ts';
import type { Records } from './table/records-page.ts';
import { useTags } from './tags/use-tags.ts';
import { useVersions } from './versions/use-versions.ts';

const RecordsPart = lazyPage('RecordsPart', () => import('./table/records-part.tsx'));
/** It stands in the head of the node, before the number of all its records. */
export const NarrowCount = lazyPiece('NarrowCount', () => import('./table/records-part.tsx'));
const DaysView = lazyPage('DaysView', () => import('./calendar/days-view.tsx'));
const FieldsView = lazyPage('FieldsView', () => import('./facts/fields-view.tsx'));
const TagsView = lazyPage('TagsView', () => import('./tags/tags-view.tsx'));
const VersionsView = lazyPage('VersionsView', () => import('./versions/versions-view.tsx'));

/** The queries of all views of a node. Only those of the view that is shown are read. */
export function useNodeViews(
  search: RecordsSearch,
  path: NodePath | null,
  facts: DatasetRow | null | undefined,
) {
  const { view } = search;
  const slice = sliceOf(search);
  const chosen = Number((search.to ?? search.from)?.slice(0, 4));
  const span = useSpan(path, facts, {
    year: search.year ?? (chosen || undefined),
    isShown: view === 'days',
  });
  const days = useDays(path, span, view === 'days');
  const { dataset, where, against } = search;
  // A node without records has no digest, and its fields can be asked for all the same.
  const digest = facts === null ? 'none' : facts?.digest;
  const fields = useFields({ slice, dataset, where, against }, digest, view === 'facts');
  const tags = useTags(slice, view === 'tags');
  const versions = useVersions(path?.tenant, view === 'versions');
  const all = { days, facts: fields, tags, versions };
  const watched: UseQueryResult[] = view === undefined || view === 'records' ? [] : [all[view]];
  return { span, days, fields, tags, versions, watched };
}

type NodeViewProps = {
  search: RecordsSearch;
  update: ChangeSearch<RecordsSearch>;
  path: NodePath;
  facts: UseQueryResult<DatasetRow | null>;
  records: Records;
  views: ReturnType<typeof useNodeViews>;
  onChoose: (path: NodePath) => void;
  panel: RecordsPanel;
};

/** Loads the views ahead, of which somebody opens one next. */
export function useViewsAhead(): void {
  useIdlePreload([RecordsPart, NarrowCount, DaysView, FieldsView, TagsView, VersionsView]);
}

/** The view of the chosen node that the hash names: its records, or another one. */
export function NodeView(props: NodeViewProps): ReactNode {
  const { search, update, path, facts, views, panel } = props;
  const { hasScope } = useSession();
  const mayWrite = hasScope('datasets:write');
  const range = chosenDays(search, facts.data);
  const rangeText = range === null ? null : windowText(range.from, range.to);
  const onDays = (from: string | undefined, to: string | undefined) =>
    update((before) => changeFilters(before, { from, to }));
  switch (search.view) {
    case 'days':
      return <Days {...props} />;
    case 'facts':
      return (
        <FieldsView
          fields={views.fields}
          days={rangeText}
          month={path.month ?? (range === null ? undefined : wholeMonthOf(range))}
          dataset={search.dataset}
          where={search.where}
          against={search.against}
          onAll={() => update((before) => changeFilters(before, { where: undefined }))}
          onAgainst={(against) => update((before) => changeSearch(before, { against }))}
          open={panel.idOf('field')}
          onOpen={(key) => panel.open('field', key)}
        />
      );
    case 'tags':
      return (
        <TagsView
          tags={views.tags}
          mayTag={mayWrite}
          days={rangeText}
          onAllDays={() => onDays(undefined, undefined)}
        />
      );
    case 'versions':
      return (
        <VersionsView
          tenant={path.tenant}
          versions={views.versions}
          open={panel.idOf('version')}
          mayExport={hasScope('analytics:read')}
          onOpen={(id) => panel.open('version', id)}
          onExport={(id) => panel.open('export', id)}
          onFreeze={() => panel.open('freeze')}
        />
      );
    case 'records':
    case undefined:
      return (
        <>
          <NodeChart
            path={path}
            facts={facts}
            range={range}
            onChoose={props.onChoose}
            // Each key changes the days again: Back would go through all of them.
            onRange={(days, by) =>
              update((before) => changeFilters(before, { from: days?.from, to: days?.to }), {
                replace: by === 'key',
              })
            }
          />
          <RecordsPart
            search={search}
            update={update}
            records={props.records}
            facts={facts.data}
            open={panel.idOf('record')}
            onOpen={(key) => panel.open('record', key)}
          />
        </>
      );
  }
}

function Days({ search, update, path, facts, views, panel }: NodeViewProps): ReactNode {
  return (
    <DaysView
      path={path}
      span={views.span}
      days={views.days}
      range={chosenDays(search, facts.data)}
      onTag={() => panel.open('tag')}
      onRange={(range) =>
        update((before) => changeFilters(before, { from: range?.from, to: range?.to }), {
          replace: true,
        })
      }
      onYear={(year) => update((before) => changeSearch(before, { year }), { replace: true })}
      onRecords={() => update((before) => changeSearch(before, { view: undefined }))}
    />
  );
}

/** The tabs that choose the view of the node. */
export function NodeViews(props: {
  view: RecordsView;
  onView: (view: RecordsView) => void;
}): ReactNode {
  return (
    <div className={`flex flex-none ${pageClasses.views}`}>
      <ViewSwitch label="What is shown of the node" views={recordsViews} isCaps {...props} />
    </div>
  );
}

type NodeChartProps = {
  path: NodePath;
  facts: UseQueryResult<DatasetRow | null>;
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  onChoose: (path: NodePath) => void;
  /** Called with the chosen days; null means all days of the node. */
  onRange: (range: NameRange | null, by: 'pointer' | 'key') => void;
};

/** The number of records of a node over time: by day for a month, by month for a store or a tenant. */
function NodeChart(props: NodeChartProps): ReactNode {
  const { path, facts, range, onChoose, onRange } = props;
  const months = useMonths(path, facts.data?.digest);
  const { tenant, store, month } = path;
  const days = facts.data?.days;
  const bars = useMemo(
    () =>
      month === undefined
        ? breakAxis((months.data ?? []).map(({ name, count }) => ({ name, parts: [count] })))
        : (days ?? []).map((count, index) => ({ name: dayOf(month, index + 1), parts: [count] })),
    [month, days, months.data],
  );
  if (facts.data === null) return null;
  return (
    <div className="chart-row">
      {bars.length > 0 && month === undefined && (
        <BarChart
          label={`Records per month of ${pathText(namesOf(path))}`}
          bars={bars}
          onOpen={
            store === undefined ? undefined : (name) => onChoose({ tenant, store, month: name })
          }
        />
      )}
      {bars.length > 0 && month !== undefined && (
        <BarChart
          label={`Records per day of ${month}`}
          bars={bars}
          range={range}
          onRange={onRange}
        />
      )}
      {bars.length > 0 && <UtcDays />}
    </div>
  );
}
