import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ExportJob } from '../../api/types.ts';
import { CliBlock, shellLine } from '../../ui/cli-block.tsx';
import drawerClasses from '../../ui/drawer.module.css';
import { DrawerShell } from '../../ui/drawer-shell.tsx';
import { formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { sliceHref } from '../../ui/hash-state.ts';
import { WarningIcon } from '../../ui/icons.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { DownloadLink } from '../exports-table.tsx';
import { ExportMark, ProgressLine } from '../marks.tsx';
import type { Cancelling } from '../use-exports.ts';
import { isOpen, leftText, percentText, requestOf, rowsText, stateWords } from '../words.ts';
import classes from './drawer.module.css';
import { FileFacts, RequestFacts, TimeFacts } from './facts.tsx';
import { ManifestPart } from './manifest.tsx';
import { RemoveFileButton } from './remove-file.tsx';

/** One export: how far it is, what it is of, what proves its file, and why it failed. */
export function ExportDrawer(props: {
  id: string;
  job: UseQueryResult<ExportJob>;
  cancelling: Cancelling;
  onClose: () => void;
}): ReactNode {
  const { id, job } = props;
  const failure = useFailure(job);
  return (
    <DrawerShell
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
    </DrawerShell>
  );
}

function Body({ job, cancelling }: { job: ExportJob; cancelling: Cancelling }): ReactNode {
  const line = shellLine(['svcctl', 'exports', 'get', job.id, ...(isOpen(job) ? ['--wait'] : [])]);
  return (
    <>
      <div className={classes.actions}>
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
          <Button component="a" className={classes.link} href={sliceHref(requestOf(job))}>
            GO TO ITS RECORDS
          </Button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by key */}
      <section className={drawerClasses.body} tabIndex={0} aria-label="The export">
        <Standing job={job} />
        {(job.state === 'failed' || job.state === 'erased') && <Fault job={job} />}
        <ManifestPart job={job} />
        <h3 className={drawerClasses.title}>FILE</h3>
        <FileFacts job={job} />
        <h3 className={drawerClasses.title}>REQUEST</h3>
        <RequestFacts job={job} />
        <h3 className={drawerClasses.title}>WHEN</h3>
        <TimeFacts job={job} />
        {(isOpen(job) || job.has_file) && (
          <CliBlock title="The same on the command line" line={line} />
        )}
      </section>
    </>
  );
}

/** What its number says stands largest. */
function Standing({ job }: { job: ExportJob }): ReactNode {
  const { rows_total: total } = job;
  return (
    <div className={classes.standing}>
      <p role="status">
        <ExportMark state={job.state} /> · {stateWords[job.state]}
      </p>
      <p className={classes.figure}>
        <strong>{percentText(job)}</strong>
        <span>
          {rowsText(job)} rows{total === null && ', all are still being counted'}
        </span>
      </p>
      {job.state !== 'completed' && <ProgressLine job={job} />}
      {isOpen(job) && (
        <p className={classes.pace}>
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
    <div className={classes.fault} role="alert">
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
