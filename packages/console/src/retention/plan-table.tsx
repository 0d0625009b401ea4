import type { ReactNode } from 'react';
import type { PlanRow } from '../api/types.ts';
import { CutText } from '../ui/cut-text.tsx';
import { formatBytes, formatCount } from '../ui/format.ts';
import { HoldMark } from './marks.tsx';
import classes from './plan.module.css';
import { daysText } from './words.ts';

/** What a run would do, line by line. */
export function PlanTable(props: { rows: readonly PlanRow[]; hasTenant?: boolean }): ReactNode {
  const { rows, hasTenant = false } = props;
  return (
    <table className={classes.plan}>
      <thead>
        <tr>
          {hasTenant && <th scope="col">TENANT</th>}
          <th scope="col">WHAT</th>
          <th scope="col">DAYS</th>
          <th scope="col" className={classes.number}>
            RECORDS
          </th>
          <th scope="col" className={classes.number}>
            BYTES
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.tenant} ${row.kind} ${row.first_day}`}>
            {hasTenant && (
              <td>
                <CutText text={row.tenant} />
              </td>
            )}
            <td className={row.kind === 'delete' && !row.held ? classes.grave : undefined}>
              {row.kind} {row.held && <HoldMark />}
              {row.versioned_count > 0 && (
                <div className={classes.kept} title={row.versions.join(', ')}>
                  {formatCount(row.versioned_count)} more are kept by{' '}
                  {row.versions.length === 1
                    ? `the version ${row.versions[0] ?? ''}`
                    : 'dataset versions'}
                </div>
              )}
            </td>
            <td>{daysText(row.first_day, row.last_day)}</td>
            <td className={classes.number}>{formatCount(row.count)}</td>
            <td className={classes.number}>{formatBytes(row.bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
