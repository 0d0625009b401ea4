import type { ReactNode } from 'react';
import { CopyButton } from '../ui/copy-button.tsx';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CoverageBar } from './coverage.tsx';
import factsClasses from './facts/facts.module.css';
import classes from './page.module.css';
import { totalsOf } from './tree/branch-pages.ts';
import type { Tree } from './tree/use-tree.ts';

const ingestLine = 'svcctl records ingest records.ndjson';

/** What is shown beside the tree while nothing is chosen: the totals of everything, and how to go on. */
export function Overview({ tree, isSearch }: { tree: Tree; isSearch: boolean }): ReactNode {
  const { rows, tail } = tree.flat.branch;
  if (rows.length === 0 && tail === 'none' && !isSearch) return <NoRecords />;
  return (
    <>
      <Sums tree={tree} isSearch={isSearch} />
      <div className={classes.nothing}>
        <h3>Choose a tenant, a store or a month</h3>
        <p>Its records, their days, EXPORT and TAG then stand here.</p>
        <dl className={classes.keys}>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>find a tenant, or TX/D for the stores of TX that begin with D</dd>
          <dt>
            <kbd>↑</kbd> <kbd>↓</kbd> <kbd>→</kbd> <kbd>←</kbd>
          </dt>
          <dd>walk through the tree, open and close; letters jump to a name</dd>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>choose</dd>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>all keys</dd>
        </dl>
      </div>
    </>
  );
}

function NoRecords(): ReactNode {
  return (
    <div className={classes.nothing}>
      <h2>No records yet</h2>
      <p>
        The detection pipeline writes one record per enriched event. To try it with a file of your
        own:
      </p>
      <div className={classes.command}>
        <code>{ingestLine}</code>
        <CopyButton value={ingestLine} label="Copy command" />
      </div>
    </div>
  );
}

/** The totals of all tenants that are loaded. */
function Sums({ tree, isSearch }: { tree: Tree; isSearch: boolean }): ReactNode {
  const { rows, tail } = tree.flat.branch;
  const totals = totalsOf(rows);
  const { count, bytes, storedBytes, isAllHot } = totals;
  // A + after the number says that more may follow: before the first rows, and while not all are loaded.
  const more = tail === 'none' ? '' : '+';
  const shown = (text: string) => (rows.length === 0 ? '–' : `${text}${more}`);
  return (
    <section className={factsClasses.facts} aria-label="All tenants">
      <div className={factsClasses.top}>
        <h2 className={classes.all}>{isSearch ? 'Tenants found' : 'All tenants'}</h2>
      </div>
      <dl className={factsClasses.figures}>
        <div className={factsClasses.main}>
          <dt>RECORDS</dt>
          <dd>{shown(formatCount(count))}</dd>
        </div>
        <div>
          <dt>TENANTS</dt>
          <dd>{shown(formatCount(rows.length))}</dd>
        </div>
        <div>
          <dt>BYTES</dt>
          <dd>
            {shown(formatBytes(bytes))}
            {!isAllHot && (
              <span className={factsClasses.muted}>
                {'\u00a0'}in {shown(formatBytes(storedBytes))}
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>COVERED</dt>
          <dd>
            <CoverageBar of={totals} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
