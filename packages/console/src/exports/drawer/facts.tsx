import type { ReactNode } from 'react';
import type { ExportJob } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import drawerClasses from '../../ui/drawer.module.css';
import { formatBytes, formatCount, formatInstant } from '../../ui/format.ts';
import { sliceHref } from '../../ui/hash-state.ts';
import { Moment } from '../../ui/marks.tsx';
import { sliceText } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { attemptsText, requestOf } from '../words.ts';
import classes from './drawer.module.css';

/** What there is to download, and how to check that it arrived whole. */
export function FileFacts({ job }: { job: ExportJob }): ReactNode {
  return (
    <Facts>
      <Fact name="name">{job.file_name}</Fact>
      <Fact name="size">
        {job.bytes === 0 ? <None /> : `${formatBytes(job.bytes)} (${formatCount(job.bytes)} bytes)`}
      </Fact>
      <Fact name="SHA-256" copy={job.sha256}>
        {job.sha256 === null ? <None /> : <code className={classes.hash}>{job.sha256}</code>}
      </Fact>
      <Fact name="id" copy={job.id}>
        {job.id}
      </Fact>
      {job.state === 'completed' && (
        <Fact name="expires">
          {job.has_file ? <At at={job.expires_at} /> : <span>its file is gone</span>}
        </Fact>
      )}
    </Facts>
  );
}

/** What was asked for. */
export function RequestFacts({ job }: { job: ExportJob }): ReactNode {
  const request = requestOf(job);
  const { kind, dataset, version, split, compression, columns, profile, header } = request;
  return (
    <Facts>
      <Fact name="slice">
        <a href={sliceHref(request)}>{sliceText(request)}</a>
      </Fact>
      {version !== undefined && (
        <Fact name="dataset version" copy={version}>
          {version}
        </Fact>
      )}
      {split !== undefined && <Fact name="split">{split}</Fact>}
      {dataset !== undefined && <Fact name="dataset">{dataset}</Fact>}
      {kind !== undefined && <Fact name="kind">{kind}</Fact>}
      <Fact name="format">
        {job.format}
        {compression !== undefined && compression !== 'none' && `, ${compression}`}
        {profile === 'spreadsheet' && ', for spreadsheets'}
        {header === false && ', without a header line'}
      </Fact>
      <Fact name="columns">{columns === undefined ? 'those by default' : columns.join(', ')}</Fact>
      <Fact name="records stored before">
        <At at={job.recorded_before} />
      </Fact>
    </Facts>
  );
}

export function TimeFacts({ job }: { job: ExportJob }): ReactNode {
  return (
    <Facts>
      <Fact name="asked for">
        <At at={job.created_at} /> by {job.requested_by}
      </Fact>
      <Fact name="started">
        <At at={job.started_at} />
      </Fact>
      <Fact name="finished">
        <At at={job.finished_at} />
      </Fact>
      <Fact name="attempts">{attemptsText(job)}</Fact>
    </Facts>
  );
}

function Facts({ children }: { children: ReactNode }): ReactNode {
  return <dl className={`${drawerClasses.fields} ${classes.facts}`}>{children}</dl>;
}

function Fact(props: { name: string; copy?: string | null; children: ReactNode }): ReactNode {
  const { name, copy = null } = props;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {props.children}
        {copy !== null && <CopyButton value={copy} label={`Copy the ${name}`} />}
      </dd>
    </div>
  );
}

function At({ at }: { at: string | null }): ReactNode {
  const [zone] = useZone();
  if (at === null) return <None />;
  return (
    <>
      {formatInstant(at, zone).slice(0, 19)} {zoneName(zone)}
      <span className={classes.quiet}>
        <Moment at={at} />
      </span>
    </>
  );
}

function None(): ReactNode {
  return <span className={classes.quiet}>–</span>;
}
