import { Button } from '@mantine/core';
import { type UseQueryResult, useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { ExportJob } from '../api/types.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { CliBlock, CopyButton } from '../ui/copy-button.tsx';
import drawerClasses from '../ui/drawer.module.css';
import { formatBytes, formatCount, formatInstant } from '../ui/format.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import { sliceHref } from '../ui/hash-state.ts';
import { WarningIcon } from '../ui/icons.tsx';
import { SkeletonRows } from '../ui/list.tsx';
import { Moment } from '../ui/marks.tsx';
import { reasonOf } from '../ui/outage.ts';
import { Panel } from '../ui/panel.tsx';
import { exportsKey } from '../ui/poll.tsx';
import { notify } from '../ui/toasts.tsx';
import { shellLine, sliceText } from '../ui/words.ts';
import { useZone, zoneName } from '../ui/zone-switch.tsx';
import classes from './drawer.module.css';
import { DownloadLink, ExportMark, ProgressLine } from './exports-table.tsx';
import { ManifestPart } from './manifest.tsx';
import { type Cancelling, removeFile } from './use-exports.ts';
import {
  attemptsText,
  isOpen,
  leftText,
  percentText,
  requestOf,
  rowsText,
  stateWords,
} from './words.ts';

/** The drawer of one export: how far it is, what it exports, what proves its file, and why it failed. */
export function ExportDrawer(props: {
  id: string;
  job: UseQueryResult<ExportJob>;
  cancelling: Cancelling;
  onClose: () => void;
}): ReactNode {
  const { id, job } = props;
  const failure = useFailure(job);
  return (
    <Panel
      kind="EXPORT"
      title={job.data?.file_name ?? id}
      id={id}
      closeLabel="Close export"
      onClose={props.onClose}
    >
      {job.data === undefined ? (
        <div className={drawerClasses.body}>
          {failure === null ? (
            <SkeletonRows rows={14} label="Loading the export" />
          ) : (
            <FailurePanel error={failure} onRetry={() => void job.refetch()} />
          )}
        </div>
      ) : (
        <Body job={job.data} cancelling={props.cancelling} />
      )}
    </Panel>
  );
}

/** The content of the drawer once the job has been read. */
function Body({ job, cancelling }: { job: ExportJob; cancelling: Cancelling }): ReactNode {
  const line = shellLine(['svcctl', 'exports', 'get', job.id, ...(isOpen(job) ? ['--wait'] : [])]);
  return (
    <>
      <div className="drawer-actions">
        {isOpen(job) && (
          <Button loading={cancelling.ids.has(job.id)} onClick={() => cancelling.cancel(job)}>
            CANCEL
          </Button>
        )}
        {job.has_file && job.state === 'completed' && (
          <>
            <DownloadLink job={job} />
            <RemoveFileButton job={job} />
          </>
        )}
        {!isOpen(job) && !job.has_file && (
          <Button component="a" href={sliceHref(requestOf(job))}>
            GO TO ITS RECORDS
          </Button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by key */}
      <section className={drawerClasses.body} tabIndex={0} aria-label="The export">
        <Standing job={job} />
        {(job.state === 'failed' || job.state === 'erased') && <Fault job={job} />}
        <ManifestPart job={job} />
        <h3 className="caps below-8">FILE</h3>
        <FileFacts job={job} />
        <h3 className="caps below-8">REQUEST</h3>
        <RequestFacts job={job} />
        <h3 className="caps below-8">WHEN</h3>
        <TimeFacts job={job} />
        {(isOpen(job) || job.has_file) && (
          <CliBlock title="The same on the command line" line={line} />
        )}
      </section>
    </>
  );
}

/** The standing of a job at the top of the drawer, with its most important number largest. */
function Standing({ job }: { job: ExportJob }): ReactNode {
  const { rows_total: total } = job;
  return (
    <div className="below-16">
      <p role="status">
        <ExportMark state={job.state} /> · {stateWords[job.state]}
      </p>
      <p className={`flex baseline gap-12 ${classes.figure}`}>
        <strong>{percentText(job)}</strong>
        <span>
          {rowsText(job)} rows{total === null && ', all are still being counted'}
        </span>
      </p>
      {job.state !== 'completed' && <ProgressLine job={job} />}
      {isOpen(job) && (
        <p className={`flex between muted ${classes.pace}`}>
          <span>
            {job.rows_per_second
              ? `${formatCount(job.rows_per_second)} rows/s`
              : 'rate not known yet'}
          </span>
          <span>{job.eta_s === null ? 'time left not known yet' : `${leftText(job)} left`}</span>
        </p>
      )}
    </div>
  );
}

function Fault({ job }: { job: ExportJob }): ReactNode {
  return (
    <div className="note-box alarm below-16" role="alert">
      <WarningIcon />
      <div>
        <p>
          <strong>{job.error_code ?? 'failed'}</strong>
        </p>
        <p>{job.error ?? 'The log of the service has more under the id of this export.'}</p>
        <p>Nothing of its file was kept.</p>
      </div>
    </div>
  );
}

/** The file of an export: its name, its size, and the SHA-256 to check it by. */
function FileFacts({ job }: { job: ExportJob }): ReactNode {
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

/** The request of the job: which records, in which format. */
function RequestFacts({ job }: { job: ExportJob }): ReactNode {
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

function TimeFacts({ job }: { job: ExportJob }): ReactNode {
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
  return <dl className={`below-16 ${drawerClasses.fields} ${drawerClasses.facts}`}>{children}</dl>;
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
      {formatInstant(at, zone)} {zoneName(zone)}
      <span className="muted">
        <Moment at={at} />
      </span>
    </>
  );
}

function None(): ReactNode {
  return <span className="muted">–</span>;
}

/** Removes the file of a completed export before its time, after a question. */
function RemoveFileButton({ job }: { job: ExportJob }): ReactNode {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => removeFile(job.id),
    onSuccess: () => notify({ text: `Removed the file ${job.file_name}` }),
    onError: (error) => notify({ text: `Not removed: ${job.file_name}. ${reasonOf(error)}` }),
    onSettled: () => client.invalidateQueries({ queryKey: exportsKey }),
  });
  return (
    <>
      <Button onClick={() => setAsking(true)} loading={remove.isPending} className="danger">
        REMOVE FILE …
      </Button>
      {isAsking && (
        <ConfirmDialog
          title="Remove this file?"
          answer="Remove"
          onYes={() => remove.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>
            {job.file_name} can then not be downloaded any more. Its records, this entry and its
            manifest stay.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
