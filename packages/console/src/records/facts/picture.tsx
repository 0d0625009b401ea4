import type { ReactNode } from 'react';
import type { DescribedField, Field } from '../../api/types.ts';
import { type FieldFilter, filterOfBucket, shortNumber } from './field-words.ts';
import classes from './fields.module.css';

/** A small picture of a field: the buckets of its numbers, or the shares that its first values have of the records. */
export function FieldPicture({ field }: { field: Field }): ReactNode {
  if (field.numbers !== null && field.distinct > field.values.length) {
    return <Histogram field={field} against={field.against} className={classes.small} />;
  }
  let left = 0;
  const parts = field.values.slice(0, 5).map(({ value, share }) => {
    const part = { key: `${typeof value} ${value}`, x: 120 * left, width: 120 * share };
    left += share;
    return part;
  });
  return (
    <svg
      className={classes.small}
      viewBox="0 0 120 20"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect className={classes.track} y="6" width="120" height="8" />
      {parts.map(({ key, x, width }, n) => (
        <rect
          key={key}
          className={classes.bar}
          data-nth={n}
          x={x}
          y={6}
          width={Math.max(0, width - 1)}
          height={8}
        />
      ))}
    </svg>
  );
}

/** The buckets of numbers as bars of the same width; those of the other slice as a line over them. */
function Histogram(props: {
  field: DescribedField;
  against: DescribedField | null;
  className: string | undefined;
}): ReactNode {
  const { field, against } = props;
  const buckets = field.numbers?.buckets ?? [];
  const others = against?.numbers?.buckets ?? [];
  const sharesOf = (all: readonly { count: number }[]) => {
    const sum = all.reduce((total, { count }) => total + count, 0);
    return all.map(({ count }) => count / Math.max(1, sum));
  };
  const [own, other] = [sharesOf(buckets), sharesOf(others)];
  const most = Math.max(0.001, ...own, ...other);
  const step = 120 / Math.max(1, buckets.length);
  const top = (share: number) => 20 - Math.max(share === 0 ? 0 : 1, (19 * share) / most);
  const line = other.map((share, n) => `${n === 0 ? 'M' : 'L'}${n * step} ${top(share)}h${step}`);
  return (
    <svg
      className={props.className}
      viewBox="0 0 120 20"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {own.map((share, n) => (
        <rect
          key={buckets[n]?.from}
          className={classes.bar}
          x={n * step}
          y={top(share)}
          width={Math.max(1, step - 1)}
          height={20 - top(share)}
        />
      ))}
      {other.length > 0 && <path className={classes.other} d={line.join('')} />}
    </svg>
  );
}

/** The same large, with an axis; a click on a bucket shows the records that have a number of it. */
export function BucketChoice(props: {
  field: Field;
  onFilter: (filter: FieldFilter) => void;
}): ReactNode {
  const { field, onFilter } = props;
  const buckets = field.numbers?.buckets ?? [];
  return (
    <>
      <div className={classes.large}>
        <Histogram field={field} against={field.against} className={classes.all} />
        <ol className={`row ${classes.buckets}`} aria-label="Numbers by size">
          {buckets.map(({ from, to, count }, n) => {
            const filter = filterOfBucket(field, { from, to, isLast: n === buckets.length - 1 });
            const label = `${shortNumber(from)} to ${shortNumber(to)}: ${count}`;
            return (
              <li key={from} title={label}>
                {filter === undefined || count === 0 ? (
                  <span className="visually-hidden">{label}</span>
                ) : (
                  <button type="button" aria-label={label} onClick={() => onFilter(filter)} />
                )}
              </li>
            );
          })}
        </ol>
      </div>
      <p className={`relative muted small ${classes.axis}`} aria-hidden="true">
        {ticksOf(buckets).map(({ at, edge }) => (
          <span key={at} style={{ left: `${100 * at}%`, translate: `${-100 * at}%` }}>
            {shortNumber(edge)}
          </span>
        ))}
      </p>
    </>
  );
}

/** The edges that are written below, and where they lie: of many buckets every third or so. */
function ticksOf(buckets: readonly { from: number; to: number }[]): { at: number; edge: number }[] {
  const every = Math.max(1, Math.ceil(buckets.length / 6));
  const last = buckets.at(-1);
  const inner = buckets.flatMap(({ from }, n) =>
    n % every === 0 && n <= buckets.length - every ? [{ at: n / buckets.length, edge: from }] : [],
  );
  return last === undefined ? [] : [...inner, { at: 1, edge: last.to }];
}
