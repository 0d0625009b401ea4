import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DescribedField, Field, RecordFields } from '../../api/types.ts';
import { Drawer } from '../../ui/drawer.tsx';
import { Facts } from '../../ui/facts.tsx';
import { formatCount, formatShare, visibleText } from '../../ui/format.ts';
import { SmallTable } from '../../ui/numbers.tsx';
import { type FieldFilter, fieldKey, sampleText, shortNumber, withError } from './field-words.ts';
import classes from './fields.module.css';
import { BucketChoice } from './picture.tsx';
import { ValueShares } from './value-shares.tsx';

type FieldDrawerProps = {
  /** See `fieldKey`. */
  fieldId: string;
  fields: UseQueryResult<RecordFields>;
  onFilter: (filter: FieldFilter) => void;
  onClose: () => void;
};

/** The drawer of one field: in how many records it is, what is in it, how that changes, and how it drifts. */
export function FieldDrawer(props: FieldDrawerProps): ReactNode {
  const { fieldId, fields, onFilter } = props;
  const name = fieldId.slice(fieldId.indexOf('/') + 1);
  return (
    <Drawer
      kind="FIELD"
      title={visibleText(name)}
      id={fieldId}
      noun="field"
      query={fields}
      rows={10}
      onClose={props.onClose}
    >
      {(data) => {
        const field = data.fields.find((one) => fieldKey(one) === fieldId);
        if (field === undefined) return <p className="muted">No record here has this field.</p>;
        return <Content field={field} data={data} onFilter={onFilter} />;
      }}
    </Drawer>
  );
}

type ContentProps = { field: Field; data: RecordFields; onFilter: FieldDrawerProps['onFilter'] };

function Content({ field, data, onFilter }: ContentProps): ReactNode {
  const { against, drift } = field;
  const looked = data.against;
  return (
    <>
      <p className="muted below-16">
        Shares are {sampleText(data)}
        {data.is_exact ? '.' : '; ± is where the share of all is in 19 of 20 cases.'}
      </p>
      {drift !== null && looked !== null && (
        <Facts facts={{ drift: driftText(drift), against: `those ${sampleText(looked)}` }} />
      )}
      <SmallTable
        head={['records', ...sidesOf(against)]}
        rows={[
          rowOf('have a value', [field, against], ({ present }) => withError(present)),
          rowOf('have null', [field, against], ({ nulls }) => withError(nulls)),
          rowOf('lack the field', [field, against], ({ missing }) => withError(missing)),
          ...field.types.map(({ type }) =>
            rowOf(`have a ${type}`, [field, against], ({ types }) => {
              const own = types.find((one) => one.type === type);
              return own === undefined ? '0 %' : withError(own);
            }),
          ),
          rowOf('different values seen', [field, against], ({ distinct }) => formatCount(distinct)),
        ]}
      />
      {field.numbers !== null && <Numbers field={field} onFilter={onFilter} />}
      {field.values.length > 0 && (
        <>
          <h3 className="caps below-8">MOST FREQUENT VALUES</h3>
          <ValueShares field={field} onFilter={onFilter} />
        </>
      )}
      {data.periods.length > 0 && <OverTime field={field} data={data} />}
    </>
  );
}

function driftText({ distance, noise }: NonNullable<Field['drift']>): string {
  if (noise === 0) return `${distance.toFixed(3)} of 1`;
  const than = distance > noise ? 'more than' : 'no more than';
  return `${distance.toFixed(3)} of 1, ${than} sampling alone gives (${noise.toFixed(3)})`;
}

const sidesOf = (against: DescribedField | null) =>
  against === null ? ['here'] : ['here', 'against'];

function rowOf(
  name: string,
  [own, against]: readonly [DescribedField, DescribedField | null],
  cell: (field: DescribedField) => string,
) {
  return { key: name, cells: [name, cell(own), ...(against === null ? [] : [cell(against)])] };
}

function Numbers({ field, onFilter }: Pick<ContentProps, 'field' | 'onFilter'>): ReactNode {
  const { numbers, against } = field;
  if (numbers === null) return null;
  const percents = numbers.quantiles.map(({ percent }) => percent);
  const at = ({ numbers: own }: DescribedField, percent: number) => {
    const found = own?.quantiles.find((one) => one.percent === percent);
    if (found === undefined) return '–';
    const { value, low, high } = found;
    const [shown, ...ends] = [shortNumber(value), shortNumber(low, 3), shortNumber(high, 3)];
    return low === high ? shown : `${shown} (${ends.join(' … ')})`;
  };
  const end = (pick: 'min' | 'max') => (one: DescribedField) =>
    one.numbers === null ? '–' : shortNumber(one.numbers[pick]);
  return (
    <>
      <h3 className="caps below-8">NUMBERS</h3>
      <BucketChoice field={field} onFilter={onFilter} />
      <SmallTable
        head={['quantile', ...sidesOf(against)]}
        rows={[
          rowOf('least', [field, against], end('min')),
          ...percents.map((percent) =>
            rowOf(percent === 50 ? '50 %, the middle' : `${percent} %`, [field, against], (one) =>
              at(one, percent),
            ),
          ),
          rowOf('most', [field, against], end('max')),
          ...(numbers.beyond === 0
            ? []
            : [rowOf('beyond doubles', [field, null], () => formatCount(numbers.beyond))]),
        ]}
      />
    </>
  );
}

/** Of each month how many records have the field, and the middle of its numbers or the shares of its first values. */
function OverTime({ field, data }: Pick<ContentProps, 'field' | 'data'>): ReactNode {
  const { numbers, over_time: times, values } = field;
  const isNumeric = numbers !== null && field.distinct > values.length;
  const named = isNumeric ? [] : values.slice(0, 3).map(({ value }) => visibleText(String(value)));
  const [low, high] = [0, 1].map((n) => {
    const ends = times.flatMap(({ p25, p75 }) => (n === 0 ? (p25 ?? []) : (p75 ?? [])));
    return n === 0 ? Math.min(...ends) : Math.max(...ends);
  });
  return (
    <>
      <h3 className="caps below-8">OVER TIME</h3>
      <SmallTable
        head={['period', 'have it', ...(isNumeric ? ['25 … 75 %', 'middle'] : named)]}
        rows={data.periods.map(({ period, sampled }, n) => {
          const at = times[n];
          const share = (count: number | undefined) =>
            formatShare((count ?? 0) / Math.max(1, sampled));
          return {
            key: period,
            cells: [
              period,
              share(at?.present),
              ...(isNumeric && at !== undefined
                ? [
                    <Span key="span" at={at} low={low ?? 0} high={high ?? 0} />,
                    at.p50 === null ? '–' : shortNumber(at.p50),
                  ]
                : named.map((_, value) => share(at?.counts[value]))),
            ],
          };
        })}
      />
    </>
  );
}

/** Where the middle half of the numbers of a period lies, on an axis that all periods share. */
function Span(props: { at: Field['over_time'][number]; low: number; high: number }): ReactNode {
  const { at, low, high } = props;
  const { p25, p50, p75 } = at;
  if (p25 === null || p50 === null || p75 === null) return '–';
  const x = (value: number) => (high === low ? 50 : 4 + (92 * (value - low)) / (high - low));
  return (
    <svg className={classes.span} viewBox="0 0 100 8" aria-hidden="true">
      <rect className={classes.track} y="3.5" width="100" height="1" />
      <rect
        className={classes.bar}
        x={x(p25)}
        y="2"
        width={Math.max(1, x(p75) - x(p25))}
        height="4"
      />
      <circle className={classes.middle} cx={x(p50)} cy="4" r="3" />
    </svg>
  );
}
