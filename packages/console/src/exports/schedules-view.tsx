import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import type { Schedule } from '../api/types.ts';
import type { ScheduleState } from '../api/values.ts';
import { scheduleFilters } from '../api/views.ts';
import { JobMark } from '../ui/job-line.tsx';
import { NewButton } from '../ui/list-page.tsx';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { FilteredList } from '../ui/table/filtered-list.tsx';
import type { ExportsPlace } from './search.ts';
import { useRunNow, useSchedules } from './use-schedules.ts';

/** The schedules: when each runs next, what it delivered last, and whether that went well. */
export function SchedulesView(props: {
  page: ExportsPlace;
  views: ReactNode;
  isAdmin: boolean;
}): ReactNode {
  const { page, views, isAdmin } = props;
  const list = useSchedules(page[0]);
  const { mutate: run } = useRunNow();
  const columns = useMemo(
    () => (isAdmin ? [...factColumns, actionColumn(run)] : factColumns),
    [isAdmin, run],
  );
  return (
    <FilteredList
      page={page}
      opens="schedule"
      one="schedule"
      views={views}
      actions={
        isAdmin && <NewButton what="schedule" onClick={() => page[2].open('new-schedule')} />
      }
      columns={columns}
      keyOf={idOf}
      query={list}
      filters={scheduleFilters}
      searched="tenant"
      words={{ advice }}
    />
  );
}

const advice = (
  <p>
    A schedule delivers what was stored since its last run to a bucket or a folder, each record
    once.
  </p>
);

const column = columnsOf<Schedule>();

const factColumns: readonly Column<Schedule>[] = [
  column.own('state', 'STATE', 104, {
    card: 'note',
    cell: ({ state }) => <ScheduleMark state={state} />,
  }),
  column.text('name', 'NAME', 144, { isMain: true, card: 'title' }),
  column.text('tenant', 'TENANT', 88, { rank: 1, card: 'fact' }),
  column.text('cron', 'CRON, UTC', 104, { rank: 3, card: 'fact' }),
  column.text('format', 'FORMAT', 76, { rank: 4 }),
  column.text('to', 'TO', 240, { rank: 2, card: 'line' }),
  column.moment('due_at', 'NEXT', 96, { card: 'fact' }),
  column.moment('delivered', 'DELIVERED', 96, {
    card: 'fact',
    value: ({ last_run: last }) => last?.delivered_at ?? null,
  }),
];

function actionColumn(onRun: (schedule: Schedule) => void): Column<Schedule> {
  return column.action(96, (schedule, tabIndex) => (
    <Button
      size="compact-xs"
      tabIndex={tabIndex}
      disabled={schedule.state === 'running'}
      onClick={() => onRun(schedule)}
    >
      RUN NOW
      <span className="visually-hidden"> {schedule.name}</span>
    </Button>
  ));
}

/** The state of a schedule as a word with a shape and a colour. */
export function ScheduleMark({ state }: { state: ScheduleState }): ReactNode {
  return <JobMark state={state} title={stateTitles[state]} />;
}

const stateTitles: Readonly<Record<ScheduleState, string>> = {
  waiting: 'runs at its next time',
  running: 'a run is under way',
  failing: 'the last run failed; the next delivers its records, too',
  paused: 'nothing begins by itself',
};
