import type { ReactNode } from 'react';
import type { DatasetRow, MonthSum } from '../api/types.ts';
import { Copied } from '../ui/copy-button.tsx';
import { Figure } from '../ui/figure.tsx';
import { formatBytes, formatCount, sharesOf, visibleText } from '../ui/format.ts';
import { MonthSums, useMonthSums } from '../ui/month-sums.tsx';
import { CoverageBar } from './coverage.tsx';
import factsClasses from './facts/facts.module.css';
import { FileCommands } from './node-actions.tsx';
import classes from './page.module.css';
import type { NodePath } from './search.ts';
import { totalsOf } from './tree/branch-pages.ts';
import type { Tree } from './tree/use-tree.ts';

const ingestLine = 'svcctl records ingest records.ndjson';

/** What is shown beside the tree while nothing is chosen: the totals of everything, over time and by tenant. */
export function Overview(props: {
  tree: Tree;
  isSearch: boolean;
  onChoose: (path: NodePath) => void;
}): ReactNode {
  const { tree, isSearch } = props;
  const { rows, tail } = tree.flat.branch;
  if (rows.length === 0 && tail === 'none' && !isSearch) return <NoRecords />;
  return (
    <>
      <Sums tree={tree} isSearch={isSearch} />
      <div className={classes.pictures}>
        {!isSearch && <MonthSums height={180} />}
        <LargestTenants rows={rows} isAll={tail === 'none'} onChoose={props.onChoose} />
        <p className={`muted ${classes.hint}`}>
          Choose a tenant, a store or a month: its records, their days, EXPORT and TAG then stand
          here. <kbd>/</kbd> finds, <kbd>?</kbd> shows all keys.
        </p>
      </div>
    </>
  );
}

/** So many tenants are drawn: what is left is small, and stands in the tree. */
const mostTenants = 12;

/** The tenants with the most records, as bars; a click chooses one. */
function LargestTenants(props: {
  rows: readonly DatasetRow[];
  isAll: boolean;
  onChoose: (path: NodePath) => void;
}): ReactNode {
  const { rows, isAll } = props;
  const largest = rows.toSorted((a, b) => b.count - a.count).slice(0, mostTenants);
  const most = Math.max(1, largest[0]?.count ?? 0);
  if (rows.length < 2) return null;
  return (
    <section className={classes.largest} aria-label="Largest tenants">
      <h2 className="figure-name below-4">
        LARGEST TENANTS{isAll ? '' : ` OF THE ${formatCount(rows.length)} LOADED`}
      </h2>
      <ul>
        {largest.map((row) => (
          <li key={row.tenant}>
            <button
              type="button"
              className="hover grid gap-12 line-under"
              onClick={() => props.onChoose({ tenant: row.tenant })}
            >
              <span className="cut bold" title={visibleText(row.tenant)}>
                {visibleText(row.tenant)}
              </span>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={Math.max(0.5, (100 * row.count) / most)} height="10" />
              </svg>
              <span className="right">{formatCount(row.count)}</span>
              <CoverageBar of={row} />
              <span className="tier" data-tier={row.tier}>
                {row.tier}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function NoRecords(): ReactNode {
  return (
    <div className={classes.nothing} data-nothing>
      <h2>No records yet</h2>
      <p>
        The detection pipeline writes one record per enriched event. To try it with a file of your
        own:
      </p>
      <Copied text={ingestLine} />
      <FileCommands />
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
      <div className={`row wrap between gap-8 ${factsClasses.top}`}>
        <h2 className={classes.all}>{isSearch ? 'Tenants found' : 'All tenants'}</h2>
      </div>
      <dl className={`figures ${factsClasses.figures}`}>
        <Figure name="RECORDS" className={factsClasses.main}>
          {shown(formatCount(count))}
        </Figure>
        <Figure name="TENANTS">{shown(formatCount(rows.length))}</Figure>
        <Figure name="BYTES">
          {shown(formatBytes(bytes))}
          {!isAllHot && (
            <span className={`muted ${factsClasses.wideOnly}`}>
              {'\u00a0'}in {shown(formatBytes(storedBytes))}
            </span>
          )}
        </Figure>
        {!isSearch && <Tiers />}
        <Figure name="COVERED">
          <CoverageBar of={totals} />
        </Figure>
      </dl>
    </section>
  );
}

/** How many records are hot and how many cold, in all tenants. */
function Tiers(): ReactNode {
  const { data = [] } = useMonthSums();
  const sum = (pick: (month: MonthSum) => number) =>
    data.reduce((total, month) => total + pick(month), 0);
  const counts = { hot: sum((month) => month.hot_count), cold: sum((month) => month.cold_count) };
  const all = counts.hot + counts.cold;
  const [hot, cold] = sharesOf(counts.hot, counts.cold);
  const shares = { hot, cold };
  return (['hot', 'cold'] as const).map((tier) => (
    <Figure key={tier} name={tier.toUpperCase()} tier={tier}>
      {all === 0 ? '–' : formatCount(counts[tier])}
      {all > 0 && (
        <span className="muted">
          {'\u00a0'}
          {shares[tier]} %
        </span>
      )}
    </Figure>
  ));
}
