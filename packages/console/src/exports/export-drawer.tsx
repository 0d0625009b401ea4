import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ExportJob } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { AskButton } from '../ui/confirm-dialog.tsx';
import { CliBlock } from '../ui/copy-button.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { formatAge, formatBytes, formatCount } from '../ui/format.ts';
import { sliceHref } from '../ui/hash-state.ts';
import { WarningIcon } from '../ui/icons.tsx';
import { At } from '../ui/marks.tsx';
import { panelHref } from '../ui/panel-place.ts';
import { exportsKey } from '../ui/poll.tsx';
import { notify } from '../ui/toasts.tsx';
import { countOf, shellLine, sliceText } from '../ui/words.ts';
import classes from './drawer.module.css';
import { CancelExport, DownloadLink, ExportMark, ProgressLine } from './exports-table.tsx';
import { ManifestPart } from './manifest.tsx';
import { removeFile, useExport } from './use-exports.ts';
import { attemptsText, isOpen, percentText, requestOf, rowsText, stateWords } from './words.ts';

/** The drawer of one export: how far it is, what it exports, what proves its file, and why it failed. */
export function ExportDrawer({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const job = useExport(id);
  return (
    <Drawer
      kind="EXPORT"
      title={job.data?.file_name ?? id}
      id={id}
      noun="export"
      query={job}
      rows={14}
      actions={(data) => <Actions job={data} />}
      onClose={onClose}
    >
      {(data) => <Body job={data} />}
    </Drawer>
  );
}

function Actions({ job }: { job: ExportJob }): ReactNode {
  return (
    <div className="drawer-actions">
      {isOpen(job) && <CancelExport job={job} />}
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
  );
}

function Body({ job }: { job: ExportJob }): ReactNode {
  const line = shellLine(['svcctl', 'exports', 'get', job.id, ...(isOpen(job) ? ['--wait'] : [])]);
  return (
    <>
      <Standing job={job} />
      {(job.state === 'failed' || job.state === 'erased') && <Fault job={job} />}
      <ManifestPart job={job} />
      {job.schedule !== null && <DeliveryFacts job={job} schedule={job.schedule} />}
      <h3 className="caps below-8">FILE</h3>
      <FileFacts job={job} />
      <h3 className="caps below-8">REQUEST</h3>
      <RequestFacts job={job} />
      <h3 className="caps below-8">WHEN</h3>
      <TimeFacts job={job} />
      {(isOpen(job) || job.has_file) && (
        <CliBlock title="The same on the command line" line={line} />
      )}
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
          <span>
            {job.eta_s === null ? 'time left not known yet' : `${formatAge(job.eta_s * 1000)} left`}
          </span>
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
  const { bytes, sha256, id } = job;
  return (
    <Facts
      facts={{
        name: job.file_name,
        size: bytes === 0 ? null : `${formatBytes(bytes)} (${formatCount(bytes)} bytes)`,
        'SHA-256': copied(sha256, <code className={`small mono ${classes.hash}`}>{sha256}</code>),
        id: copied(id),
        expires:
          job.state === 'completed' ? (
            job.has_file ? (
              <At at={job.expires_at} />
            ) : (
              <span>its file is gone</span>
            )
          ) : undefined,
      }}
    />
  );
}

/** Of a run of a schedule: which, where it delivers, and whether all of it is there. */
function DeliveryFacts(props: {
  job: ExportJob;
  schedule: NonNullable<ExportJob['schedule']>;
}): ReactNode {
  const { job, schedule } = props;
  const href = panelHref('/exports', { kind: 'schedule', id: schedule.id }, { view: 'schedules' });
  return (
    <>
      <h3 className="caps below-8">DELIVERY</h3>
      <Facts
        facts={{
          schedule: <a href={href}>{schedule.name}</a>,
          folder: job.delivered_to && copied(job.delivered_to),
          delivered: job.delivered_at === null ? 'not yet' : <At at={job.delivered_at} />,
        }}
      />
    </>
  );
}

/** The request of the job: which records, in which format. */
function RequestFacts({ job }: { job: ExportJob }): ReactNode {
  const request = requestOf(job);
  const { kind, dataset, version, split, compression, columns, profile, header } = request;
  const format = [
    job.format,
    compression !== 'none' && compression,
    profile === 'spreadsheet' && 'for spreadsheets',
    header === false && 'without a header line',
  ];
  return (
    <Facts
      facts={{
        slice: <a href={sliceHref(request)}>{sliceText(request)}</a>,
        'dataset version': version && copied(version),
        split,
        dataset,
        kind,
        format: format.filter(Boolean).join(', '),
        columns: columns === undefined ? 'those by default' : columns.join(', '),
        'records stored before': <At at={job.recorded_before} />,
      }}
    />
  );
}

function TimeFacts({ job }: { job: ExportJob }): ReactNode {
  return (
    <Facts
      facts={{
        'asked for': (
          <>
            <At at={job.created_at} /> by {job.requested_by}
          </>
        ),
        started: <At at={job.started_at} />,
        finished: <At at={job.finished_at} />,
        attempts: attemptsText(job),
      }}
    />
  );
}

/** Removes the file of a completed export before its time, after a question. */
function RemoveFileButton({ job }: { job: ExportJob }): ReactNode {
  const remove = useAct({
    call: () => removeFile(job.id),
    onDone: () => notify({ text: `Removed the file ${job.file_name}` }),
    failed: `Not removed: ${job.file_name}`,
    changes: exportsKey,
  });
  return (
    <AskButton
      text="REMOVE FILE…"
      isBusy={remove.isPending}
      title="Remove this file?"
      answer="Remove"
      onYes={() => remove.mutate()}
    >
      {`${job.file_name} (${countOf(job.rows_done, 'row')}, ${formatBytes(job.bytes)}) can then not be downloaded any more. Its records, this entry and its manifest stay.`}
    </AskButton>
  );
}
