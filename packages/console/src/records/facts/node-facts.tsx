import type { UseQueryResult } from '@tanstack/react-query';
import { CatchBoundary } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { formatBytes, formatCount, formatInstant, formatShare } from '../../ui/format.ts';
import { FailurePanel } from '../../ui/freshness.tsx';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { CoverageBar } from '../coverage-bar.tsx';
import { type NodePath, namesOf, pathOf } from '../node.ts';
import { DayStrip } from './day-strip.tsx';
import classes from './facts.module.css';
import { loadMonthChart } from './load-month-chart.ts';
import { useMonths } from './use-facts.ts';

const MonthChart = lazy(loadMonthChart);

export type NodeFactsProps = {
  path: NodePath;
  facts: UseQueryResult<DatasetRow | null>;
  from: string | undefined;
  to: string | undefined;
  actions: ReactNode;
  onChoose: (path: NodePath) => void;
  onDays: (from: string | undefined, to: string | undefined) => void;
};

/** What an operator came for, largest first: the count of the chosen node, then the rest. */
export function NodeFacts(props: NodeFactsProps): ReactNode {
  const { path, facts } = props;
  const row = facts.data;
  return (
    <section className={classes.facts} aria-label="The chosen node">
      <div className={classes.top}>
        <PathLine path={path} onChoose={props.onChoose} />
        {row && <Digest digest={row.digest} />}
        <div className={classes.actions}>{props.actions}</div>
      </div>
      {row ? <Figures row={row} /> : <FiguresToCome facts={facts} />}
      <Chart {...props} />
    </section>
  );
}

function PathLine({
  path,
  onChoose,
}: {
  path: NodePath;
  onChoose: (path: NodePath) => void;
}): ReactNode {
  const names = namesOf(path);
  return (
    <nav className={classes.path} aria-label="Path of the node">
      {names.map((name, index) => {
        const isLast = index === names.length - 1;
        return (
          <span key={names.slice(0, index + 1).join('/')}>
            {isLast ? (
              <h2 aria-current="page">{name}</h2>
            ) : (
              <>
                <button
                  type="button"
                  onClick={() => onChoose(pathOf(path.tenant, names.slice(1, index + 1)[0]))}
                >
                  {name}
                </button>
                <span aria-hidden="true">›</span>
              </>
            )}
          </span>
        );
      })}
    </nav>
  );
}

function Figures({ row }: { row: DatasetRow }): ReactNode {
  const [zone] = useZone();
  const shown = zoneName(zone);
  const instant = (text: string | null) =>
    text === null ? '–' : formatInstant(text, zone).slice(0, 16);
  const stored = row.tier === 'hot' ? '' : `\u00a0in ${formatBytes(row.stored_bytes)}`;
  return (
    <dl className={classes.figures}>
      <div className={classes.main}>
        <dt>RECORDS</dt>
        <dd>{formatCount(row.count)}</dd>
      </div>
      <div>
        <dt>BYTES</dt>
        <dd>
          {formatBytes(row.bytes)}
          <span className={classes.muted}>{stored}</span>
        </dd>
      </div>
      <div title={taggedText(row)}>
        <dt>COVERED</dt>
        <dd>
          <CoverageBar coverage={row.coverage} />
        </dd>
      </div>
      <div>
        <dt>TIER</dt>
        <dd className={classes.tier} data-tier={row.tier}>
          {row.tier}
        </dd>
      </div>
      <div>
        <dt>FIRST EVENT ({shown})</dt>
        <dd>{instant(row.first_at)}</dd>
      </div>
      <div>
        <dt>LAST EVENT ({shown})</dt>
        <dd>{instant(row.last_at)}</dd>
      </div>
    </dl>
  );
}

/** Beside the name: it says which content this is, and a figure more would make a second line of them. */
function Digest({ digest }: { digest: string }): ReactNode {
  return (
    <span className={classes.digest}>
      digest <code>{digest}</code>
      <CopyButton value={digest} label="Copy digest" />
    </span>
  );
}

function taggedText({ count, covered, by_dataset }: DatasetRow): string {
  const share = formatShare(count === 0 ? null : covered / count);
  return `${formatCount(covered)} of ${formatCount(count)} tagged (${share}): training ${formatCount(by_dataset.training)}, fine-tuning ${formatCount(by_dataset.fine_tuning)}`;
}

function FiguresToCome({ facts }: { facts: UseQueryResult<DatasetRow | null> }): ReactNode {
  if (facts.data === null) {
    return <p className={classes.gone}>Nothing is stored here, or your token may not see it.</p>;
  }
  if (facts.isError) {
    return <FailurePanel error={facts.error} onRetry={() => void facts.refetch()} />;
  }
  return (
    <dl className={classes.figures} aria-busy="true">
      {['RECORDS', 'BYTES', 'COVERED', 'TIER', 'FIRST EVENT', 'LAST EVENT'].map((name) => (
        <div key={name} className={name === 'RECORDS' ? classes.main : undefined}>
          <dt>{name}</dt>
          <dd>
            <span className={classes.bone} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Chart({ path, facts, from, to, onChoose, onDays }: NodeFactsProps): ReactNode {
  const months = useMonths(path, facts.data?.digest);
  const { store, month } = path;
  if (facts.data === null) return null;
  if (month !== undefined) {
    const days = facts.data?.days;
    return (
      <div className={classes.chartRow}>
        {days && <DayStrip month={month} days={days} from={from} to={to} onChoose={onDays} />}
      </div>
    );
  }
  const choose = (chosen: string) => {
    if (store !== undefined) onChoose({ tenant: path.tenant, store, month: chosen });
  };
  return (
    <div className={classes.chartRow}>
      {months.data === null && (
        <p className={classes.muted}>Too many months to draw: choose a store.</p>
      )}
      {months.data && months.data.length > 0 && (
        // Without its chart the page still does what one came for.
        <CatchBoundary getResetKey={() => path.tenant} errorComponent={NoChart}>
          <Suspense>
            <MonthChart
              months={months.data}
              {...(store === undefined ? {} : { onChoose: choose })}
            />
          </Suspense>
        </CatchBoundary>
      )}
    </div>
  );
}

function NoChart(): ReactNode {
  return <p className={classes.muted}>The chart cannot be drawn. Load the page again.</p>;
}
