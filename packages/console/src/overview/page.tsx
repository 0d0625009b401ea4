import type { ReactNode } from 'react';
import type {
  Finding,
  Overview,
  ProcessRow,
  ServiceStatus,
  WebhooksOverview,
} from '../api/types.ts';
import { isIdle, wellText } from '../api/values.ts';
import { BulkOutcome } from '../ui/bulk-outcome.tsx';
import { formatAge, formatBytes, visibleText } from '../ui/format.ts';
import { FailurePanel, useFailure, useNow } from '../ui/freshness.tsx';
import { OkIcon, WarningIcon } from '../ui/icons.tsx';
import { Moment, NowProvider } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { Charts } from './charts.tsx';
import classes from './overview.module.css';
import { isYoung, Start } from './start.tsx';
import { Tiles } from './tiles.tsx';
import { describeTrouble } from './words.ts';

/** The page OVERVIEW: what is wrong, what there is, and how it went lately. */
export function OverviewPage(): ReactNode {
  const query = useRead<Overview>(['overview'], '/stats/overview');
  const failure = useFailure(query);
  const { actor, hasScope } = useSession();
  const overview = query.data;
  const isBare = overview !== undefined && isIdle(overview);
  const isAdmin = hasScope('admin');
  const isTold = isAdmin && actor.tenants === null;
  const status = useRead<ServiceStatus>(['status'], '/status', { isWanted: isTold });
  if (!hasScope('enrichment:read')) return <NothingToSee />;
  return (
    <NowProvider>
      {overview === undefined && failure !== null ? (
        <FailurePanel error={failure} onRetry={() => void query.refetch()} />
      ) : (
        <div className={`stack ${classes.page}`} aria-busy={overview === undefined}>
          <Troubles overview={overview} updatedAt={query.dataUpdatedAt} />
          {!isBare && (
            <>
              <Tiles overview={overview} isAdmin={isAdmin} />
              <LastJob job={overview?.webhooks?.last_job ?? null} />
            </>
          )}
          {overview?.records && isYoung(overview.records) && <Start records={overview.records} />}
          {isTold && <Service status={status.data} />}
          {!isBare && <Charts overview={overview} isAdmin={isAdmin} />}
        </div>
      )}
    </NowProvider>
  );
}

/** One line: what is wrong, each as a link to where it is mended, or that all is well. */
function Troubles(props: { overview: Overview | undefined; updatedAt: number }): ReactNode {
  const { overview, updatedAt } = props;
  const troubles = overview?.troubles ?? [];
  const isWell = troubles.length === 0;
  const isEmpty = overview !== undefined && isIdle(overview);
  return (
    <section
      className={`signed flex-none danger line-under ${classes.troubles}`}
      aria-label="State"
      data-well={isWell && !isEmpty}
      data-quiet={isWell && isEmpty}
    >
      {overview !== undefined && (
        <>
          {isWell ? !isEmpty && <OkIcon /> : <WarningIcon />}
          <p role="status">
            {isWell ? (
              <strong>{wellText(overview)}</strong>
            ) : (
              troubles.map((trouble, index) => {
                const { text, href } = describeTrouble(trouble);
                return (
                  <span key={trouble.kind}>
                    {index > 0 && ' · '}
                    <a href={href}>{visibleText(text)}</a>
                  </span>
                );
              })
            )}
          </p>
          <Age of={updatedAt} />
        </>
      )}
    </section>
  );
}

/** What became of the last bulk retry, purge or replay. A process of the release before tells of none. */
function LastJob({ job }: { job: WebhooksOverview['last_job'] }): ReactNode {
  if (job === null || job.rows_done === 0) return null;
  return (
    <section className="flex-none line-under muted small" aria-label="Last bulk job">
      <p style={{ padding: '8px var(--mantine-spacing-md)' }}>
        Last {job.action === 'replay' ? 'replay' : `bulk ${job.action}`},{' '}
        <Moment at={job.created_at} />: <BulkOutcome job={job} />
      </p>
    </section>
  );
}

function Age({ of }: { of: number }): ReactNode {
  const age = useNow(1000) - of;
  return <span className={classes.age}>{age < 1000 ? 'just now' : `${formatAge(age)} ago`}</span>;
}

/** Where those go that may read no records. */
const elsewhere = [
  { scope: 'audit:read', name: 'ACCESS › AUDIT', href: '#/access?view=audit' },
  { scope: 'analytics:read', name: 'EXPORTS', href: '#/exports' },
  { scope: 'webhooks:read', name: 'DELIVERIES', href: '#/deliveries' },
  { scope: 'incidents:read', name: 'INCIDENTS', href: '#/incidents' },
] as const;

function NothingToSee(): ReactNode {
  const { actor, hasScope } = useSession();
  return (
    <section className="empty">
      <h2>Nothing to see here</h2>
      <p style={{ maxWidth: '60ch' }}>
        What there is and how it goes is shown to those with the scope enrichment:read. You have{' '}
        {actor.scopes.join(', ')}.
      </p>
      {elsewhere.map(
        ({ scope, name, href }) =>
          hasScope(scope) && (
            <p key={scope}>
              <a href={href}>Go to {name}</a>
            </p>
          ),
      )}
    </section>
  );
}

/** How the service itself is: what its quick checks find, and its processes. */
function Service({ status }: { status: ServiceStatus | undefined }): ReactNode {
  return (
    <section className={`flex-none ${classes.service}`} aria-label="SERVICE">
      <div className={`row wrap between below-8 ${classes.cardHead}`}>
        <h2 className="figure-name">SERVICE</h2>
        {status && (
          <span className={classes.age}>
            svcctl {visibleText(status.version)} · PostgreSQL {visibleText(status.database.version)}{' '}
            · {formatBytes(status.database.size_bytes)}
          </span>
        )}
      </div>
      {status && status.findings.length > 0 && (
        <ul className="below-8">
          {status.findings.map((finding) => (
            <FindingLine key={`${finding.check} ${finding.found}`} finding={finding} />
          ))}
        </ul>
      )}
      {status && (
        <ul className={classes.processes}>
          {status.processes.map((process) => (
            <ProcessLine
              key={process.id}
              process={process}
              isOther={process.version !== status.version}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function FindingLine({ finding }: { finding: Finding }): ReactNode {
  const { check, severity, found, remedy } = finding;
  const text = visibleText(found);
  return (
    <li className={severity === 'problem' ? 'signed danger' : 'signed'}>
      <WarningIcon />
      <span>
        <strong>{severity}</strong> ·{' '}
        {check === 'notices' ? <a href="#/access?view=notices">{text}</a> : text}
        {remedy !== null && <span className={`muted small ${classes.remedy}`}>{remedy}</span>}
      </span>
    </li>
  );
}

function ProcessLine(props: {
  process: ProcessRow;
  /** Whether it is of another version than the one that answers. */
  isOther: boolean;
}): ReactNode {
  const { process, isOther } = props;
  const { host, pid, command, roles, state, version, since, seen_at: seenAt } = process;
  const seconds = Math.round(process.silent_seconds);
  const isLive = state === 'live';
  return (
    <li>
      <span className={isLive ? 'mark' : 'mark danger'}>
        {isLive ? <OkIcon /> : <WarningIcon />}
        {state === 'silent' ? `silent for ${seconds} s` : state}
      </span>
      <span className={`cut ${classes.target}`}>
        <strong title={process.url ?? undefined}>
          {visibleText(host)}:{pid}
        </strong>
        <span>{command === 'serve' ? roles.join(', ') : `svcctl ${command}`}</span>
      </span>
      <span className="muted nowrap right">{isOther && visibleText(version)}</span>
      <span className="muted nowrap right">
        {isLive ? 'started ' : 'seen '}
        <Moment at={isLive ? since : seenAt} />
      </span>
    </li>
  );
}
