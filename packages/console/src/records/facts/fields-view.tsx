import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { Field, RecordFields } from '../../api/types.ts';
import { type DatasetName, datasetNames } from '../../api/values.ts';
import { monthAfter } from '../../ui/days.ts';
import { ChoiceFilter } from '../../ui/filters.tsx';
import { formatCount, visibleText } from '../../ui/format.ts';
import { Empty } from '../../ui/list.tsx';
import { CutText } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { List } from '../../ui/table/list.tsx';
import { datasetWords } from '../../ui/words.ts';
import { fieldKey, interestOf, sampleText, typicalOf, withError } from './field-words.ts';
import classes from './fields.module.css';
import { FieldPicture } from './picture.tsx';

type FieldsViewProps = {
  fields: UseQueryResult<RecordFields>;
  /** The chosen days, such as `2001-03-01 … 2001-03-05`; null means all days. */
  days: string | null;
  /** The month, `YYYY-MM`, of which everything is looked at; undefined: there is no such month. */
  month: string | undefined;
  dataset: DatasetName | undefined;
  /** What must hold of the records. */
  where: string | undefined;
  onAll: () => void;
  /** What the fields are compared with: see the parameter of the API. */
  against: string | undefined;
  onAgainst: (against: string | undefined) => void;
  /** Key of the field that the panel shows. */
  open: string | undefined;
  onOpen: (key: string) => void;
};

/** The fields of the enrichments: in how many records they are, what is in them, and how they drift. */
export function FieldsView(props: FieldsViewProps): ReactNode {
  const { fields, days, dataset, where, against } = props;
  const data = fields.data;
  const isCompared = data !== undefined && data.against !== null;
  const columns = useMemo(() => columnsFor(isCompared), [isCompared]);
  const rows = useMemo(() => (data === undefined ? [] : inOrder(data)), [data]);
  return (
    <div className="view">
      <div className={`row wrap between gap-8 flex-none line-under ${classes.head}`}>
        <p className="muted" role="status">
          {data === undefined ? '' : headText(data, { days, dataset })}
          {where !== undefined && (
            <>
              {' '}
              where <code>{where}</code>
            </>
          )}
          {rows.length > 1 &&
            (isCompared ? '. By drift.' : '. By what records lack, then by what moves over time.')}
        </p>
        {where !== undefined && <Button onClick={props.onAll}>ALL RECORDS</Button>}
        <ChoiceFilter
          label="Compare with"
          any="compare …"
          choices={choicesOf(props)}
          value={against}
          onChange={props.onAgainst}
        />
      </div>
      <List
        queries={[fields]}
        name="fields"
        placeholders={10}
        empty={<Empty title="No records here" />}
        list={isCompared ? 'fields-drift' : 'fields'}
        label="Fields"
        columns={columns}
        rows={rows}
        keyOf={fieldKey}
        open={props.open}
        onOpen={props.onOpen}
      />
    </div>
  );
}

/** The fields that there is most to see of first: compared, they come by their drift from the service. */
function inOrder({ fields, periods, against }: RecordFields): readonly Field[] {
  if (against !== null) return fields;
  const interest = new Map(fields.map((field) => [field, interestOf(field, periods)]));
  return fields.toSorted((a, b) => (interest.get(b) ?? 0) - (interest.get(a) ?? 0));
}

function headText(
  fields: RecordFields,
  { days, dataset }: { days: string | null; dataset: DatasetName | undefined },
): string {
  if (fields.count === 0) return 'No records here.';
  const tagged = dataset === undefined ? '' : `, tagged ${datasetWords[dataset]}`;
  const against = fields.against === null ? '' : `, against those ${sampleText(fields.against)}`;
  const unread =
    fields.unread === 0 ? '' : `; ${formatCount(fields.unread)} were too large to look at`;
  const more =
    fields.left_off === 0 ? '' : `; ${formatCount(fields.left_off)} or more fields are left off`;
  return `Fields ${sampleText(fields)}${days === null ? '' : ` of ${days}`}${tagged}${against}${unread}${more}`;
}

/** What the chosen slice can be compared with. */
function choicesOf(props: FieldsViewProps): { value: string; label: string }[] {
  const { month, dataset, fields, against } = props;
  const datasets = datasetNames
    .filter((name) => name !== dataset)
    .map((name) => ({ value: name as string, label: `against ${datasetWords[name]}` }));
  const whole = dataset === undefined ? [] : [{ value: 'all', label: 'against all' }];
  const near = month === undefined ? [] : [monthAfter(month, -1), monthAfter(month, 1)];
  const months =
    month === undefined ? (fields.data?.periods ?? []).map(({ period }) => period) : near;
  const isMonth = against !== undefined && /^\d{4}-\d{2}$/.test(against);
  const all = isMonth && !months.includes(against) ? [against, ...months] : months;
  return [
    ...whole,
    ...datasets,
    ...all
      .filter((name) => name.length === 7)
      .map((name) => ({ value: name, label: `against ${name}` })),
  ];
}

const column = columnsOf<Field>();

function columnsFor(isCompared: boolean): readonly Column<Field>[] {
  return [
    column.own('name', 'FIELD', 150, {
      isMain: true,
      card: 'title',
      cell: ({ name }) => <CutText text={visibleText(name)} />,
      value: ({ name }) => name,
    }),
    column.own('type', 'TYPE', 72, {
      rank: 4,
      card: 'note',
      value: ({ types }) => types.map(({ type }) => type).join(', '),
    }),
    column.own('present', 'PRESENT', 104, {
      isFigure: true,
      rank: 3,
      card: 'note',
      cell: ({ present }) => <Present of={present} />,
      value: ({ present }) => present.share,
    }),
    column.own('picture', 'SPREAD', 136, {
      // A picture has no text, by which the list would take it for empty.
      isKept: true,
      rank: 2,
      cell: (field) => <FieldPicture field={field} />,
      value: () => null,
    }),
    column.own('typical', 'TYPICAL', 152, {
      isText: true,
      shown: longerOf,
      card: 'line',
      cell: (field) => <Typical text={typicalOf(field)} />,
      value: typicalOf,
    }),
    ...(isCompared ? driftColumns : []),
  ];
}

const driftColumns: readonly Column<Field>[] = [
  column.own('against', 'AGAINST', 160, {
    isText: true,
    shown: longerOf,
    rank: 5,
    cell: ({ against }) => <Typical text={against && typicalOf(against)} />,
    value: ({ against }) => against && typicalOf(against),
  }),
  column.own('drift', 'DRIFT', 104, {
    isFigure: true,
    card: 'fact',
    cell: (field) => <Drift field={field} />,
    value: ({ drift }) => drift?.distance ?? null,
  }),
];

/** Both sides of a comparison have columns of one width. */
function longerOf(field: Field): string {
  const [own, other] = [
    typicalOf(field) ?? '',
    field.against ? (typicalOf(field.against) ?? '') : '',
  ];
  return own.length < other.length ? other : own;
}

/** In how many records a field is: those that are not in all have a bar, so that they are seen. */
function Present({ of }: { of: Field['present'] }): ReactNode {
  if (of.share === 1) return <span className="muted">{withError(of)}</span>;
  return (
    <span className="row gap-8 end">
      <svg className={classes.drift} viewBox="0 0 40 8" aria-hidden="true">
        <rect width="40" height="8" className={classes.track} />
        <rect width={40 * of.share} height="8" data-chance={false} />
      </svg>
      {withError(of)}
    </span>
  );
}

function Typical({ text }: { text: string | null }): ReactNode {
  if (text === null) return <span className="muted">–</span>;
  return <CutText text={visibleText(text)} end="" />;
}

/** The drift as a number and a bar; it is muted where chance alone may make as much. */
function Drift({ field: { drift } }: { field: Field }): ReactNode {
  if (drift === null) return <span className="muted">–</span>;
  const isChance = drift.noise > 0 && drift.distance <= drift.noise;
  const title = isChance
    ? `Sampling alone gives up to ${drift.noise.toFixed(3)}`
    : `More than sampling alone gives: ${drift.noise.toFixed(3)}`;
  return (
    <span className={`row gap-8 end ${isChance ? 'muted' : ''}`} title={title}>
      <svg className={classes.drift} viewBox="0 0 40 8" aria-hidden="true">
        <rect width="40" height="8" className={classes.track} />
        <rect width={40 * drift.distance} height="8" data-chance={isChance} />
      </svg>
      {isChance ? 'chance' : drift.distance.toFixed(2)}
    </span>
  );
}
