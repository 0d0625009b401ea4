import type { ReactNode } from 'react';
import type { Field } from '../../api/types.ts';
import { formatCount, visibleText } from '../../ui/format.ts';
import { CutText } from '../../ui/marks.tsx';
import classes from './shares.module.css';
import { type FieldFilter, filterOf, withError } from './use-fields.ts';

/** The most frequent values of a field, as bars; a click on one shows the records that have it. */
export function ValueShares(props: {
  field: Field;
  onFilter: (filter: FieldFilter) => void;
}): ReactNode {
  const { field, onFilter } = props;
  const most = Math.max(1, ...field.values.map(({ count }) => count));
  return (
    <table className={`below-16 ${classes.table}`}>
      <thead>
        <tr>
          <th scope="col">VALUE</th>
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
        {field.values.map(({ value, count, ...share }) => (
          <tr key={`${typeof value} ${value}`}>
            <th scope="row">
              <Value
                text={visibleText(String(value))}
                filter={filterOf(field, value)}
                {...{ onFilter }}
              />
            </th>
            <td>
              <svg className={classes.bar} viewBox="0 0 120 8" aria-hidden="true">
                <rect width={Math.max(1.5, (120 * count) / most)} height="8" rx="1" />
              </svg>
            </td>
            <td className={classes.number}>{formatCount(count)}</td>
            <td className={classes.number}>{withError(share)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value(props: {
  text: string;
  filter: FieldFilter | undefined;
  onFilter: (filter: FieldFilter) => void;
}): ReactNode {
  const { text, filter, onFilter } = props;
  if (filter === undefined) return <CutText text={text} />;
  return (
    <button type="button" title={`Records of ${text}`} onClick={() => onFilter(filter)}>
      {text}
    </button>
  );
}
