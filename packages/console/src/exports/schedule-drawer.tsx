import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { ExportRequest, Schedule } from '../api/types.ts';
import { runEventTypes } from '../api/values.ts';
import { changedBut, useAct } from '../ui/act.ts';
import { AskButton } from '../ui/confirm-dialog.tsx';
import { CliBlock } from '../ui/copy-button.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { formatCount } from '../ui/format.ts';
import { sliceHref, stringifySearch } from '../ui/hash-state.ts';
import { WarningIcon } from '../ui/icons.tsx';
import { At } from '../ui/marks.tsx';
import { exportHref } from '../ui/panel-place.ts';
import { exportsKey } from '../ui/poll.tsx';
import { SchemaColumns } from '../ui/schema-columns.tsx';
import { notify } from '../ui/toasts.tsx';
import { shellLine, sliceText } from '../ui/words.ts';
import { ChangeSchedule } from './change-schedule.tsx';
import { ScheduleMark } from './schedules-view.tsx';
import { schedulePath, usePause, useRunNow, useSchedule } from './use-schedules.ts';

/** The drawer of one schedule: what it delivers where, how far it is, and how its last run went. */
export function ScheduleDrawer(props: {
  id: string;
  isAdmin: boolean;
  onClose: () => void;
}): ReactNode {
  const { id } = props;
  const schedule = useSchedule(id);
  const [changed, setChanged] = useState<string>();
  const isChanging = changed === id;
  return (
    <Drawer
      kind="SCHEDULE"
      title={schedule.data?.name ?? id}
      id={id}
      noun="schedule"
      query={schedule}
      rows={14}
      actions={(data) =>
        props.isAdmin && (
          <Actions
            schedule={data}
            isChanging={isChanging}
            onChange={() => setChanged(id)}
            onDeleted={props.onClose}
          />
        )
      }
      onClose={props.onClose}
    >
      {(data) =>
        isChanging ? (
          <ChangeSchedule schedule={data} onEnd={() => setChanged(undefined)} />
        ) : (
          <Body schedule={data} />
        )
      }
    </Drawer>
  );
}

function Actions({
  schedule,
  isChanging,
  onChange,
  onDeleted,
}: {
  schedule: Schedule;
  isChanging: boolean;
  onChange: () => void;
  onDeleted: () => void;
}): ReactNode {
  const run = useRunNow();
  const pause = usePause();
  const { name, state } = schedule;
  const remove = useAct({
    call: () => api.delete(schedulePath(schedule.id)),
    onDone: () => {
      notify({ text: `Deleted ${name}` });
      onDeleted();
    },
    failed: `Not deleted: ${name}`,
    changes: changedBut(exportsKey, schedule.id),
  });
  return (
    <div className="drawer-actions">
      <Button
        variant="filled"
        disabled={state === 'running'}
        loading={run.isPending}
        onClick={() => run.mutate(schedule)}
      >
        RUN NOW
      </Button>
      <Button loading={pause.isPending} onClick={() => pause.mutate(schedule)}>
        {state === 'paused' ? 'RESUME' : 'PAUSE'}
      </Button>
      <Button disabled={isChanging} onClick={onChange}>
        CHANGE…
      </Button>
      <AskButton
        text="DELETE…"
        isBusy={remove.isPending}
        title="Delete this schedule?"
        answer="Delete"
        onYes={() => remove.mutate()}
      >
        {`${name} delivers nothing more, and a run that is under way is cancelled. What it delivered stays where it is.`}
      </AskButton>
    </div>
  );
}

function Body({ schedule }: { schedule: Schedule }): ReactNode {
  const { last_run: last, id } = schedule;
  // The schema of a schedule says only that it is an object.
  const request = schedule.request as ExportRequest;
  // A run whose file was erased since had gone well.
  const isErased = last?.state === 'erased';
  return (
    <>
      <p role="status" className="below-16">
        <ScheduleMark state={schedule.state} />
      </p>
      {last?.error != null && !isErased && (
        <div className="note-box alarm below-16" role="alert">
          <WarningIcon />
          <p>{last.error}</p>
        </div>
      )}
      <h3 className="caps below-8">WHEN</h3>
      <Facts
        facts={{
          cron: `${schedule.cron} (UTC)`,
          'next run': schedule.due_at === null ? 'paused' : <At at={schedule.due_at} />,
          delivered:
            schedule.delivered_before === null ? (
              'nothing yet'
            ) : (
              <>
                what was stored before <At at={schedule.delivered_before} />
              </>
            ),
        }}
      />
      <h3 className="caps below-8">LAST RUN</h3>
      {last === null ? (
        <p className="below-16">There was none yet.</p>
      ) : (
        <Facts
          facts={{
            run: <a href={exportHref(last.id)}>{last.state}</a>,
            begun: <At at={last.created_at} />,
            rows: last.rows === null ? null : formatCount(last.rows),
            'fit no column': last.misfits === null ? undefined : formatCount(last.misfits),
            skipped: last.skipped === null ? undefined : formatCount(last.skipped),
            folder: copied(last.delivered_to),
            'since then': isErased ? last.error : undefined,
            delivered: last.delivered_at === null ? 'not yet' : <At at={last.delivered_at} />,
            'all runs': <a href={`#/exports${stringifySearch({ schedule: id })}`}>in the list</a>,
          }}
        />
      )}
      <h3 className="caps below-8">WHAT AND WHERE</h3>
      <Facts
        facts={{
          slice: <a href={sliceHref(request)}>{sliceText(request)}</a>,
          where: request.where,
          dataset: request.dataset,
          format: request.typed ? `${schedule.format}, typed` : schedule.format,
          template:
            request.template === undefined || typeof request.template === 'string'
              ? request.template
              : 'one of its own',
          to: copied(schedule.to),
          'access key': schedule.access_key_id ?? undefined,
          webhook: schedule.webhook ? runEventTypes.join(', ') : undefined,
          made: (
            <>
              <At at={schedule.created_at} /> by {schedule.created_by}
            </>
          ),
        }}
      />
      {schedule.schema && (
        <>
          <h3 className="caps below-8">COLUMNS OF FIELDS</h3>
          <SchemaColumns schema={schedule.schema} />
        </>
      )}
      <CliBlock
        title="Its runs on the command line"
        line={shellLine(['svcctl', 'schedules', 'history', id])}
      />
    </>
  );
}
