import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { api } from '../api/client.ts';
import type { AuditEntry, AuditVerdict, Page } from '../api/types.ts';
import { auditFilters } from '../api/views.ts';
import { useAct } from '../ui/act.ts';
import { formatClock, formatCount, formatInstant, type Zone } from '../ui/format.ts';
import { CheckIcon, WarningIcon } from '../ui/icons.tsx';
import { ListBar } from '../ui/list-page.tsx';
import { listParams } from '../ui/list-search.ts';
import { CutText } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { type Column, offered } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { FilteredList } from '../ui/table/filtered-list.tsx';
import { useZone, zoneName } from '../ui/zone-switch.tsx';
import accessClasses from './access.module.css';
import type { AccessPlace } from './search.ts';
import { namesIn, sentenceOf } from './sentence.ts';
import { accessKey, useTokens } from './use-access.ts';
import { changesOf, entryKeyOf, valueText } from './words.ts';

/** The audit log, newest first, with its filters and the proof that nobody changed it. */
export function AuditView({ page, views }: { page: AccessPlace; views: ReactNode }): ReactNode {
  const [search] = page;
  const params = listParams(auditFilters, search);
  const list = useRead<Page<AuditEntry>>([...accessKey, 'audit', params], '/audit', { params });
  const entries = list.data?.data;
  // A token that was revoked is in no list, but its entries stay.
  const tokens = useTokens().data?.data ?? [];
  const names = Object.fromEntries(tokens.map(({ id, name }) => [id, name]));
  const [zone] = useZone();
  const columns = useMemo(() => columnsFor(entries ?? [], zone), [entries, zone]);
  const { actor } = useSession();
  const check = useAct({
    call: () => api.post<AuditVerdict>('/audit/verify', {}),
    failed: 'Not verified',
  });
  return (
    <>
      <ListBar
        left={views}
        queries={[list]}
        before={<Verdict verdict={check.data} at={check.submittedAt} />}
      >
        <Button loading={check.isPending} onClick={() => check.mutate()}>
          Verify the log
        </Button>
      </ListBar>
      {check.data === undefined && actor.tenants === null && (
        <p
          className="line-under muted small flex-none"
          style={{ padding: '6px var(--mantine-spacing-md)' }}
        >
          The service seals the log as it grows, and OVERVIEW says when it is not what was sealed.
          When all of it was last verified, and by whom, is not recorded: press VERIFY THE LOG, or
          run <code>svcctl audit verify</code>.
        </p>
      )}
      {check.data?.ok === false && (
        <ul className={`line-under ${accessClasses.problems}`}>
          {check.data.problems.map(({ message }) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
      <FilteredList
        page={page}
        opens="entry"
        list="audit"
        label="Audit log"
        one="entry"
        many="entries"
        queries={[]}
        columns={columns}
        keyOf={entryKeyOf}
        query={list}
        filters={auditFilters}
        searched="text"
        filterWords={{ actor: names, action: actions }}
        words={{ noMatch: 'No entry matches', none: 'Nothing was done yet' }}
      />
    </>
  );
}

/** What a verification found that was asked for at a time in milliseconds, in words with a shape and a colour. */
function Verdict(props: { verdict: AuditVerdict | undefined; at: number }): ReactNode {
  const { verdict, at } = props;
  const [zone] = useZone();
  if (verdict === undefined) return <span role="status" />;
  const text = verdict.ok
    ? `Chain verified, ${formatCount(verdict.entries)} entries`
    : `The log differs in ${formatCount(verdict.problem_count)}`;
  return (
    <span
      role="status"
      className={`mark ${verdict.ok ? 'ok' : 'danger'}`}
      title={`Head: ${verdict.head}`}
    >
      {verdict.ok ? <CheckIcon /> : <WarningIcon />}
      {`${text}, at ${formatClock(at, zone)} ${zoneName(zone)}`}
    </span>
  );
}

/** How actions begin, and what they do. */
const actions = {
  'token.': 'tokens',
  'session.': 'sign-ins and sessions',
  'approval.': 'what a second person confirms',
  'export.': 'exports and downloads',
  'schedule.': 'schedules',
  'tag.': 'tags',
  'version.': 'versions',
  'endpoint.': 'endpoints',
  'delivery.': 'single dead letters',
  'retry_job.': 'retries in bulk',
  'purge_job.': 'purges in bulk',
  'retention.': 'retention',
  'records.': 'erasures',
  'audit.': 'the log itself',
} as const;

const column = columnsOf<AuditEntry>();

/** The columns of a page, whose entries together know what ids are called. */
function columnsFor(entries: readonly AuditEntry[], zone: Zone): readonly Column<AuditEntry>[] {
  const names = namesIn(entries);
  return [
    column.own('at', 'WHEN', 192, {
      card: 'note',
      cell: ({ at }) => (
        <time
          dateTime={at}
          title={at}
        >{`${formatInstant(at, zone).slice(0, 19)} ${zoneName(zone)}`}</time>
      ),
    }),
    column.text('actor', 'WHO', 144, { card: 'line', value: ({ actor }) => actor.name }),
    column.text('act', 'WHAT', 360, {
      isMain: true,
      card: 'title',
      value: (entry) => sentenceOf(entry, names),
    }),
    column.sentence('change', 'CHANGE', 240, { rank: 1, card: 'note', value: changeText }),
    column.own('tenant', 'TENANT', 88, {
      rank: 2,
      cell: ({ tenants }) => <CutText text={tenants === null ? '–' : tenants.join(', ')} />,
      value: ({ tenants }) => tenants?.join(' ') ?? null,
    }),
    column.text('address', 'FROM', 112, { rank: 3 }),
    column.text('action', 'ACTION', 160, { rank: offered }),
    column.text('target', 'TARGET', 168, { rank: offered }),
  ];
}

/** What other columns say. */
const saidElsewhere = /^(id|tenant|tenants|url|name|file_name|digest|(created|updated)_(at|by))$/;
const mostChanges = 4;

/** What an act changed, as one line: `hot_days 3 to 30`. The panel tells what is gone, and all of what was made. */
function changeText({ action, before, after }: AuditEntry): string {
  const isChange = before !== null && after !== null && !action.endsWith('.delete');
  const changes = changesOf(isChange ? before : null, after)
    .filter(({ name }) => !(isChange ? /^updated_(at|by)$/ : saidElsewhere).test(name))
    .map(({ name, before: old, after: now }) =>
      isChange ? `${name} ${valueText(old)} to ${valueText(now)}` : `${name} ${valueText(now)}`,
    );
  const more = changes.length - mostChanges;
  const shown = [...changes.slice(0, mostChanges), ...(more > 0 ? [`${more} more`] : [])];
  return shown.length === 0 ? '–' : shown.join(' · ');
}
