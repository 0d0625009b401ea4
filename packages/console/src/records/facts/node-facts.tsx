import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Figure } from '../../ui/figure.tsx';
import { formatBytes, formatCount, formatInstant, visibleText } from '../../ui/format.ts';
import { FailurePanel } from '../../ui/freshness.tsx';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { CoverageBar } from '../coverage.tsx';
import { type NodePath, namesOf, pathOf } from '../search.ts';
import classes from './facts.module.css';

type NodeFactsProps = {
  path: NodePath;
  facts: UseQueryResult<DatasetRow | null>;
  /** How many of the records are listed, to stand before the number of all; `false`: all of them. */
  narrow: ReactNode;
  actions: ReactNode;
  onChoose: (path: NodePath) => void;
  /** Shows the tree, where a narrow screen has only the node. */
  onPick: () => void;
};

/** The facts of the chosen node: its count, which operators come for, is largest; then the rest. */
export function NodeFacts(props: NodeFactsProps): ReactNode {
  const { path, facts } = props;
  const row = facts.data;
  return (
    <section className={classes.facts} aria-label="The chosen node">
      <div className={`row wrap between gap-8 ${classes.top}`}>
        <PathLine path={path} onChoose={props.onChoose} onPick={props.onPick} />
        {row && <Digest digest={row.digest} />}
        <div className="row wrap gap-8">{props.actions}</div>
      </div>
      {row ? <Figures row={row} narrow={props.narrow} /> : <FiguresToCome facts={facts} />}
    </section>
  );
}

/** The path of the node; each of its names chooses that node. */
function PathLine({
  path,
  onChoose,
  onPick,
}: Pick<NodeFactsProps, 'path' | 'onChoose' | 'onPick'>): ReactNode {
  const names = namesOf(path);
  return (
    <nav className={`row wrap shrink ${classes.path}`} aria-label="Path of the node">
      <span className={classes.pick}>
        <button type="button" onClick={onPick}>
          All tenants
        </button>
        <span aria-hidden="true">›</span>
      </span>
      {names.map((name, index) => {
        const isLast = index === names.length - 1;
        return (
          <span key={names.slice(0, index + 1).join('/')}>
            {isLast ? (
              <h2 aria-current="page">{visibleText(name)}</h2>
            ) : (
              <>
                <button
                  type="button"
                  onClick={() => onChoose(pathOf(path.tenant, names.slice(1, index + 1)[0]))}
                >
                  {visibleText(name)}
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

/** The figures of the node: count, bytes, coverage, and the times of its first and last record. */
function Figures({ row, narrow }: { row: DatasetRow; narrow: ReactNode }): ReactNode {
  const stored = row.tier === 'hot' ? '' : `\u00a0in ${formatBytes(row.stored_bytes)}`;
  return (
    <dl className={`figures ${classes.figures}`}>
      <Figure name="RECORDS" className={classes.main}>
        {narrow}
        {narrow ? (
          <span className="muted small">{formatCount(row.count)}</span>
        ) : (
          formatCount(row.count)
        )}
      </Figure>
      <Figure name="BYTES">
        {formatBytes(row.bytes)}
        <span className={`muted ${classes.wideOnly}`}>{stored}</span>
      </Figure>
      <Figure name="COVERED">
        <CoverageBar of={row} />
      </Figure>
      <Figure name="TIER" tier={row.tier}>
        {row.tier}
      </Figure>
      <Instant name="FIRST EVENT" at={row.first_at} />
      <Instant name="LAST EVENT" at={row.last_at} />
    </dl>
  );
}

/** A time to the minute; where there is little room, its day, and the rest in the title. */
function Instant({ name, at }: { name: string; at: string | null }): ReactNode {
  const [zone] = useZone();
  const shown = zoneName(zone);
  const text = at === null ? '–' : formatInstant(at, zone);
  return (
    <Figure
      name={
        <>
          {name} <span className={classes.wideOnly}>({shown})</span>
        </>
      }
      title={at === null ? undefined : `${text} ${shown}`}
    >
      {text.slice(0, 10)}
      {at !== null && <span className={classes.wideOnly}>&nbsp;{text.slice(11, 16)}</span>}
    </Figure>
  );
}

/** The digest of the node. It stands beside the name, because one more figure would make a second line of them. */
function Digest({ digest }: { digest: string }): ReactNode {
  return (
    <span className={`row gap-4 muted small nowrap ${classes.digest}`}>
      digest <code className={classes.wideOnly}>{digest}</code>
      <CopyButton value={digest} label="Copy digest" />
    </span>
  );
}

/** Placeholders for the figures while they load, or why there are none. */
function FiguresToCome({ facts }: { facts: UseQueryResult<DatasetRow | null> }): ReactNode {
  if (facts.data === null) {
    return (
      <p className={`muted ${classes.gone}`}>
        Nothing is stored here, or your token may not see it.
      </p>
    );
  }
  if (facts.isError) {
    return <FailurePanel error={facts.error} onRetry={() => void facts.refetch()} />;
  }
  return (
    <dl className={`figures ${classes.figures}`} aria-busy="true">
      {['RECORDS', 'BYTES', 'COVERED', 'TIER', 'FIRST EVENT', 'LAST EVENT'].map((name) => (
        <Figure key={name} name={name} className={name === 'RECORDS' ? classes.main : undefined}>
          <span className="bone" style={{ width: 72 }} />
        </Figure>
      ))}
    </dl>
  );
}
