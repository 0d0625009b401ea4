import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { api } from '../api/client.ts';
import type { Notice, NotifyTarget, Page } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { Copied } from '../ui/copy-button.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { visibleText } from '../ui/format.ts';
import { DeliveredIcon, QueuedIcon, WarningIcon } from '../ui/icons.tsx';
import { Empty } from '../ui/list.tsx';
import { ListBar } from '../ui/list-page.tsx';
import { Instant, Moment } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { List } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import accessClasses from './access.module.css';
import { noticesKey, useTargetTest } from './use-access.ts';
import { addressOf, kindsText, sendTexts, severityTexts, troubledFirst } from './words.ts';

/** Who is told of what is wrong, whether it arrives, and what was told lately. */
export function NoticesView(props: {
  views: ReactNode;
  onNew: () => void;
  /** The id of the notice in the panel. */
  open: string | undefined;
  onOpen: (id: string) => void;
  onClose: () => void;
}): ReactNode {
  const { views, onNew, open } = props;
  const targets = useRead<{ data: NotifyTarget[] }>([...noticesKey, 'targets'], '/notify/targets');
  const notices = useRead<Page<Notice>>([...noticesKey, 'told'], '/notify/notices', {
    params: { limit: 100 },
  });
  const [asked, setAsked] = useState<NotifyTarget | null>(null);
  const close = useCallback(() => setAsked(null), []);
  const { mutate: test } = useTargetTest();
  const columns = useMemo(() => [...targetColumns, actionColumn(test, setAsked)], [test]);
  const rows = useMemo(() => troubledFirst(targets.data?.data ?? []), [targets.data]);
  const told = notices.data?.data;
  return (
    <>
      <ListBar left={views} queries={[targets, notices]}>
        <Button variant="filled" onClick={onNew}>
          Tell somebody
        </Button>
      </ListBar>
      <List
        queries={[targets]}
        name="targets of notices"
        placeholders={4}
        empty={
          <Empty title="Nobody is told">
            <p>Have somebody told of what is wrong, by webhook or by e-mail.</p>
          </Empty>
        }
        list="notify-targets"
        label="Who is told"
        columns={columns}
        rows={rows}
        keyOf={idOf}
      />
      <h2 className={`flex-none muted small bold line-over ${accessClasses.heading}`}>
        NOTICED LATELY
      </h2>
      <List
        queries={[notices]}
        name="notices"
        placeholders={6}
        empty={<Empty title="Nothing was noticed yet" />}
        list="notices"
        label="What was noticed"
        columns={noticeColumns}
        rows={told ?? []}
        keyOf={idOf}
        open={open}
        onOpen={props.onOpen}
      />
      {open !== undefined && (
        <NoticePanel key={open} id={open} notices={notices} onClose={props.onClose} />
      )}
      {asked !== null && <RemoveDialog target={asked} onClose={close} />}
    </>
  );
}

const target = columnsOf<NotifyTarget>();

const targetColumns: readonly Column<NotifyTarget>[] = [
  target.text('address', 'TOLD', 220, { isMain: true, card: 'title', value: addressOf }),
  target.text('kinds', 'OF', 160, { rank: 1, card: 'line', value: kindsText }),
  // Whose people are told, and of its endpoints alone.
  target.text('tenant', 'TENANT', 96, { rank: 3, card: 'line' }),
  target.own('min_severity', 'FROM', 80, { card: 'fact' }),
  target.own('last_send', 'LAST', 176, {
    card: 'fact',
    cell: ({ last_send, enabled }) =>
      last_send === null || !enabled ? (
        <span className="muted">{enabled ? 'nothing yet' : 'off'}</span>
      ) : (
        <span
          className={`mark ${sendTexts[last_send.state].tone}`}
          title={last_send.error ?? undefined}
        >
          {sendIcons[last_send.state]}
          {sendTexts[last_send.state].text}
          {last_send.is_test && ' (test)'} <Moment at={last_send.at} />
        </span>
      ),
    value: ({ last_send }) => last_send?.state ?? null,
  }),
  target.own('error', 'ERROR', 160, {
    isText: true,
    rank: 2,
    card: 'note',
    cell: ({ last_send }) =>
      last_send?.error ? (
        <span title={last_send.error}>{last_send.error}</span>
      ) : (
        <span className="muted">–</span>
      ),
    value: ({ last_send }) => last_send?.error ?? null,
  }),
];

const sendIcons = {
  delivered: <DeliveredIcon />,
  queued: <QueuedIcon />,
  given_up: <WarningIcon />,
} as const;

function actionColumn(
  onTest: (target: NotifyTarget) => void,
  onRemove: (target: NotifyTarget) => void,
): Column<NotifyTarget> {
  return target.action(152, (target, tabIndex) => (
    <span className="flex end gap-4">
      <Button size="compact-xs" tabIndex={tabIndex} onClick={() => onTest(target)}>
        TEST
        <span className="visually-hidden"> {addressOf(target)}</span>
      </Button>
      <Button size="compact-xs" tabIndex={tabIndex} onClick={() => onRemove(target)}>
        REMOVE
        <span className="visually-hidden"> {addressOf(target)}</span>
      </Button>
    </span>
  ));
}

const notice = columnsOf<Notice>();

const noticeColumns: readonly Column<Notice>[] = [
  notice.own('severity', 'SEVERITY', 104, {
    card: 'line',
    cell: ({ severity, ended_at }) => (
      <span className={`mark ${ended_at === null ? severityTexts[severity].tone : 'muted'}`}>
        {severityTexts[severity].isLoud && <WarningIcon />}
        {severity}
      </span>
    ),
  }),
  notice.own('title', 'WHAT', 280, {
    isMain: true,
    card: 'title',
    cell: ({ title, advice, place }, tabIndex) => (
      <a href={place} tabIndex={tabIndex} title={`${title}. ${advice}`}>
        {visibleText(title)}
      </a>
    ),
  }),
  notice.moment('since', 'SINCE', 96, { card: 'fact' }),
  // Also what was noticed while there was nobody to tell.
  notice.moment('told_at', 'NOTICED', 96, { rank: 1, card: 'fact' }),
  notice.own('ended_at', 'OVER', 96, {
    card: 'fact',
    cell: ({ since, ended_at: ended }) => {
      // What happened once is over as it begins.
      if (ended === since) return <span className="muted">–</span>;
      return ended === null ? 'not yet' : <Moment at={ended} />;
    },
  }),
];

/** What was noticed, whole: what to do about it, what to type, and where it shows. */
function NoticePanel(props: {
  id: string;
  notices: UseQueryResult<Page<Notice>>;
  onClose: () => void;
}): ReactNode {
  const { id, notices, onClose } = props;
  const notice = notices.data?.data.find((each) => each.id === id);
  // What to type stands at the end of the advice, where there is something.
  const advice = notice?.advice ?? '';
  const [, text = advice, command] = /^(.*) Next: (.+)\.$/s.exec(advice) ?? [];
  return (
    <Drawer
      kind="NOTICE"
      title={visibleText(notice?.title ?? id)}
      id={id}
      noun="notice"
      query={notices}
      rows={6}
      onClose={onClose}
    >
      {() =>
        notice === undefined ? (
          <Empty title="It is not among the last notices" />
        ) : (
          <>
            <p className="below-16">
              {visibleText(text)} <a href={notice.place}>Look at it</a>
            </p>
            {command !== undefined && (
              <div className="below-16">
                <Copied text={command} />
              </div>
            )}
            <Facts
              facts={{
                severity: notice.severity,
                tenant: notice.tenant ?? undefined,
                about: notice.subject === '' ? undefined : copied(notice.subject),
                since: <Instant at={notice.since} />,
                noticed: <Instant at={notice.told_at} />,
                over: notice.ended_at === null ? 'not yet' : <Instant at={notice.ended_at} />,
              }}
            />
          </>
        )
      }
    </Drawer>
  );
}

/** Asks before a target is removed. */
function RemoveDialog(props: { target: NotifyTarget; onClose: () => void }): ReactNode {
  const { target, onClose } = props;
  const address = addressOf(target);
  const remove = useAct({
    call: () => api.delete(`/notify/targets/${encodeURIComponent(target.id)}`),
    onDone: () => notify({ text: `Removed: ${address}` }),
    failed: `Not removed: ${address}`,
    changes: noticesKey,
  });
  return (
    <ConfirmDialog
      title="Tell this target nothing more?"
      answer="Remove"
      onYes={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        <strong>{address}</strong> is told of nothing any more, also not of what waits to be sent.
      </p>
    </ConfirmDialog>
  );
}
