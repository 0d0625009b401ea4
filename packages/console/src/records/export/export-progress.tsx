import type { ReactNode } from 'react';
import { ApiError } from '../../api/client.ts';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { CheckIcon, WarningIcon } from '../../ui/icons.tsx';
import classes from './export.module.css';
import type { ExportState } from './export-run.ts';

/** How far an export is, in rows and bytes. */
export function ExportProgressBar({ state }: { state: ExportState }): ReactNode {
  if (state.step === 'starting') return <p className="muted">Starting …</p>;
  if (state.step === 'done') return <p className="muted">Export complete</p>;
  if (state.step !== 'running') return null;
  const { rows, bytes, expectedRows } = state;
  const percent = rows !== null && expectedRows > 0 ? Math.floor((100 * rows) / expectedRows) : 0;
  return (
    <div className={`below-12 ${classes.progress}`}>
      <progress
        // Without a value the bar says that work is under way, but not how far it is.
        {...(rows !== null && { value: rows })}
        max={Math.max(1, expectedRows)}
        aria-label={`Export of ${state.file}`}
      />
      <p className="flex between gap-12 muted">
        {rows !== null && <strong className="ink">{percent} %</strong>}
        <span>
          {rows !== null && `${formatCount(rows)} of `}
          {formatCount(expectedRows)} rows
        </span>
        <span>{formatBytes(bytes)}</span>
      </p>
    </div>
  );
}

/** How an export ended, with the number of rows that was announced and the number that came. */
export function ExportOutcome({ state }: { state: ExportState }): ReactNode {
  return (
    <div role="status">
      <Outcome state={state} />
    </div>
  );
}

/** The sentence about how the export ended. */
function Outcome({ state }: { state: ExportState }): ReactNode {
  switch (state.step) {
    case 'done': {
      const { rows, bytes, expectedRows } = state.result;
      return (
        <p className="signed below-12 ok">
          <CheckIcon />
          <span className="ink">
            <strong className="ok">
              {rows === null
                ? `All of it came: ${formatCount(expectedRows)} rows, by the word of the service`
                : `rows = count: ${formatCount(rows)} = ${formatCount(expectedRows)}`}
            </strong>
            <br />
            {state.file} · {formatBytes(bytes)} · {(state.millis / 1000).toFixed(1)} s
          </span>
        </p>
      );
    }
    case 'downloading':
      return (
        <p className="signed below-12 ok">
          <CheckIcon />
          <span className="ink">
            <strong className="ok">
              Your browser is downloading {formatCount(state.rowCount)} rows.
            </strong>
            <br />
            Compare: the finished file must hold {formatCount(state.rowCount)} records. A download
            that breaks off shows as failed in the browser. This link worked once.
          </span>
        </p>
      );
    case 'cancelled':
      return <p className="muted">Cancelled. The unfinished file was removed.</p>;
    case 'failed': {
      const { error } = state;
      const request = error instanceof ApiError ? error.requestId : null;
      return (
        <p className="note-box below-12 alarm break">
          <WarningIcon />
          <span>
            <strong>The export failed.</strong>{' '}
            {error instanceof ApiError ? error.detail : error.message}
            {request !== null && <small> request {request}</small>}
          </span>
        </p>
      );
    }
    case 'ready':
    case 'starting':
    case 'running':
      return null;
  }
}
