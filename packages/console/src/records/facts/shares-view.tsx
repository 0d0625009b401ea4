import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { RecordFacts } from '../../api/types.ts';
import { formatCount, formatShare, visibleText } from '../../ui/format.ts';
import { Loaded } from '../../ui/list.tsx';
import { CutText } from '../../ui/marks.tsx';
import classes from './shares.module.css';
import { countOfOthers, sampleText } from './use-facts.ts';

export type SharesViewProps = {
  shares: UseQueryResult<RecordFacts>;
  /** The chosen days, such as `2001-03-01 … 2001-03-05`; null means all days. */
  days: string | null;
  onFilter: (filter: { kind: string } | { source: string }) => void;
};

/** The shares of kinds, sources and models, and from how many records they were computed. */
export function SharesView({ shares, days, onFilter }: SharesViewProps): ReactNode {
  const facts = shares.data;
  return (
    <div className={`view ${classes.view}`}>
      <p className={`flex-none muted line-under ${classes.head}`} role="status">
        {facts === undefined ? '' : headText(facts, days)}
      </p>
      <Loaded query={shares} name="facts" rows={8}>
        {({ kinds, models, sources, sampled }) =>
          sampled > 0 && (
            <div className={classes.columns}>
              <Shares
                name="KIND"
                shares={kinds}
                sampled={sampled}
                onChoose={(kind) => onFilter({ kind })}
              />
              <Shares name="MODEL" shares={models} sampled={sampled} />
              <Shares
                name="SOURCE"
                shares={sources}
                sampled={sampled}
                onChoose={(source) => onFilter({ source })}
              />
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

function headText(facts: RecordFacts, days: string | null): string {
  if (facts.count === 0) return 'No records here.';
  const where = days === null ? '' : ` of ${days}`;
  return `Kinds, sources and models ${sampleText(facts)}${where}`;
}

/** The shares of the values of one field, the largest first. */
function Shares(props: {
  name: string;
  shares: RecordFacts['kinds'];
  sampled: number;
  /** Called to show the records that have this value. */
  onChoose?: (value: string) => void;
}): ReactNode {
  const { name, shares, sampled, onChoose } = props;
  const others = countOfOthers(shares, sampled);
  const most = Math.max(1, ...shares.map(({ count }) => count));
  return (
    <table className={classes.table}>
      <thead>
        <tr>
          <th scope="col">{name}</th>
          <th scope="col">
            <span className="visually-hidden">Bar</span>
          </th>
          <th scope="col" className={classes.number}>
            RECORDS
          </th>
          <th scope="col" className={classes.number}>
            SHARE
          </th>
        </tr>
      </thead>
      <tbody>
        {shares.map(({ value, count }) => (
          <ShareRow key={value ?? ''} {...{ count, sampled, most }}>
            {value === null && <span className={classes.none}>none</span>}
            {value !== null && onChoose === undefined && <CutText text={value} />}
            {value !== null && onChoose !== undefined && (
              <button
                type="button"
                title={`Records of ${visibleText(value)}`}
                onClick={() => onChoose(value)}
              >
                {visibleText(value)}
              </button>
            )}
          </ShareRow>
        ))}
        {others > 0 && (
          <ShareRow count={others} sampled={sampled} most={null}>
            <span className={classes.none}>others</span>
          </ShareRow>
        )}
      </tbody>
    </table>
  );
}

type ShareRowProps = {
  count: number;
  sampled: number;
  /** The largest count of one value in the column, which has the longest bar; null draws none. */
  most: number | null;
  children: ReactNode;
};

function ShareRow(props: ShareRowProps): ReactNode {
  const { count, sampled, most } = props;
  return (
    <tr>
      <th scope="row">{props.children}</th>
      <td>
        {most !== null && (
          <svg className={classes.bar} viewBox="0 0 120 8" aria-hidden="true">
            <rect width={Math.max(1.5, (120 * count) / most)} height="8" rx="1" />
          </svg>
        )}
      </td>
      <td className={classes.number}>{formatCount(count)}</td>
      <td className={classes.number}>{formatShare(count / sampled)}</td>
    </tr>
  );
}
