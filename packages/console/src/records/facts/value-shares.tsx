import type { ReactNode } from 'react';
import type { Field } from '../../api/types.ts';
import { formatCount, visibleText } from '../../ui/format.ts';
import { CutText } from '../../ui/marks.tsx';
import { SmallTable } from '../../ui/numbers.tsx';
import { type FieldFilter, filterOf, withError } from './field-words.ts';
import classes from './shares.module.css';

/** The most frequent values of a field, as bars; a click on one shows the records that have it. */
export function ValueShares(props: {
  field: Field;
  onFilter: (filter: FieldFilter) => void;
}): ReactNode {
  const { field, onFilter } = props;
  const most = Math.max(1, ...field.values.map(({ count }) => count));
  return (
    <SmallTable
      className={`below-16 ${classes.table}`}
      head={['VALUE', '', 'RECORDS', 'SHARE']}
      rightAt={[2, 3]}
      rows={field.values.map(({ value, count, ...share }) => ({
        key: `${typeof value} ${value}`,
        cells: [
          <Value
            key="value"
            text={visibleText(String(value))}
            filter={filterOf(field, value)}
            onFilter={onFilter}
          />,
          <svg key="bar" className={classes.bar} viewBox="0 0 120 8" aria-hidden="true">
            <rect width={Math.max(1.5, (120 * count) / most)} height="8" rx="1" />
          </svg>,
          formatCount(count),
          withError(share),
        ],
      }))}
    />
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
