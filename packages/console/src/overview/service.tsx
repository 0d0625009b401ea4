import type { ReactNode } from 'react';
import type { Finding, ProcessRow, ServiceStatus } from '../api/types.ts';
import { formatBytes, visibleText } from '../ui/format.ts';
import { OkIcon, WarningIcon } from '../ui/icons.tsx';
import { Moment } from '../ui/marks.tsx';
import classes from './overview.module.css';

/** How the service itself is: what its quick checks find, and its processes. */
export function Service({ status }: { status: ServiceStatus | undefined }): ReactNode {
  return (
    <section className={classes.service} aria-label="SERVICE">
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
        <ul className={`below-8 ${classes.findings}`}>
          {status.findings.map((finding) => (
            <FindingLine key={`${finding.check} ${finding.found}`} finding={finding} />
          ))}
        </ul>
      )}
      {status && (
        <ul className={classes.processes}>
          {status.processes.map((process) => (
            <ProcessLine key={process.id} process={process} />
          ))}
        </ul>
      )}
    </section>
  );
}

function FindingLine({ finding }: { finding: Finding }): ReactNode {
  const { severity, found, remedy } = finding;
  return (
    <li className={severity === 'problem' ? 'signed danger' : 'signed'}>
      <WarningIcon />
      <span>
        <strong>{severity}</strong> · {visibleText(found)}
        {remedy !== null && <span className={classes.remedy}>{remedy}</span>}
      </span>
    </li>
  );
}

function ProcessLine({ process }: { process: ProcessRow }): ReactNode {
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
      <span className={`muted nowrap right ${classes.version}`}>{visibleText(version)}</span>
      <span className="muted nowrap right">
        {isLive ? 'started ' : 'seen '}
        <Moment at={isLive ? since : seenAt} />
      </span>
    </li>
  );
}
