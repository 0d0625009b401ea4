import { Button, Radio } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import type { Page, Tag } from '../../api/types.ts';
import { type DatasetName, datasetNames } from '../../api/values.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { formatInstant, type Zone } from '../../ui/format.ts';
import { CutText } from '../../ui/marks.tsx';
import { type Column, idOf } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { List } from '../../ui/table/list.tsx';
import { countOf, datasetWords } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { windowText } from '../search.ts';
import { useDeleteTag } from './tag-acts.ts';
import classes from './tags.module.css';

type TagsViewProps = {
  tags: UseQueryResult<Page<Tag>>;
  mayTag: boolean;
  /** The chosen days in words; null means all. */
  days: string | null;
  onAllDays: () => void;
};

/** The list of tags that touch the chosen node, latest first. */
export function TagsView({ tags, mayTag, days, onAllDays }: TagsViewProps): ReactNode {
  const [asked, setAsked] = useState<Tag | null>(null);
  const [zone] = useZone();
  const columns = useMemo(
    () => (mayTag ? [...columnsFor(zone), untagColumn(setAsked)] : columnsFor(zone)),
    [zone, mayTag],
  );
  const page = tags.data;
  return (
    <div className="view">
      <div className={`row wrap between gap-8 flex-none line-under ${classes.bar}`}>
        <p className="muted">{page === undefined ? '' : headText(page, days)}</p>
        {days !== null && (
          <Button variant="subtle" onClick={onAllDays}>
            All days
          </Button>
        )}
      </div>
      <List
        queries={[tags]}
        name="tags"
        placeholders={4}
        empty={null}
        list="tags"
        label="Tags"
        columns={columns}
        rows={page?.data ?? []}
        keyOf={idOf}
      />
      {asked !== null && <UntagQuestion tag={asked} onClose={() => setAsked(null)} />}
    </div>
  );
}

function headText({ data, next_cursor }: Page<Tag>, days: string | null): string {
  const where = days ?? 'what is chosen';
  if (data.length === 0) {
    return `No tag has days of ${where}. TAG… marks days as training or fine-tuning data.`;
  }
  const tags = countOf(data.length, 'tag');
  return next_cursor === null
    ? `${tags} ${data.length === 1 ? 'has' : 'have'} days of ${where}, the latest first`
    : `The latest ${tags} with days of ${where}`;
}

const column = columnsOf<Tag>();

function columnsFor(zone: Zone): readonly Column<Tag>[] {
  return [
    column.own('dataset', 'DATASET', 112, {
      card: 'title',
      cell: ({ dataset }) => <DatasetMark dataset={dataset} />,
    }),
    column.own('store', 'STORE', 84, {
      card: 'line',
      cell: ({ store }) =>
        store === null ? <span className="muted">all stores</span> : <CutText text={store} />,
      value: ({ store }) => store ?? 'all stores',
    }),
    column.own('days', 'DAYS', 200, {
      isMain: true,
      card: 'line',
      value: ({ from, to }) => windowText(from, to),
    }),
    column.count('records', 'RECORDS', 84, { card: 'fact', value: ({ count }) => count }),
    column.own('created_by', 'BY', 104, {
      rank: 1,
      card: 'fact',
      cell: ({ created_by, created_at }) => (
        <span title={`${formatInstant(created_at, zone)} ${zoneName(zone)}`}>{created_by}</span>
      ),
    }),
    column.sentence('note', 'NOTE', 96, { rank: 2, card: 'note' }),
  ];
}

function untagColumn(onUntag: (tag: Tag) => void): Column<Tag> {
  return column.action(92, (tag, tabIndex) => (
    <Button
      size="compact-xs"
      tabIndex={tabIndex}
      aria-label={`UNTAG ${datasetWords[tag.dataset]}, ${tag.store ?? 'all stores'}, ${windowText(tag.from, tag.to)}`}
      onClick={() => onUntag(tag)}
    >
      UNTAG
    </Button>
  ));
}

/** The question before a tag is removed: how many records lose it. */
function UntagQuestion({ tag, onClose }: { tag: Tag; onClose: () => void }): ReactNode {
  const remove = useDeleteTag(tag);
  return (
    <ConfirmDialog
      title={`Untag ${windowText(tag.from, tag.to)} of ${tag.store ?? tag.tenant}?`}
      keep="Keep the tag"
      answer="UNTAG"
      onYes={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        <strong>{countOf(tag.count, 'record')}</strong> are no {datasetWords[tag.dataset]} data by
        this tag any more. The records stay, and so do versions that were frozen with it.
      </p>
    </ConfirmDialog>
  );
}

/** The choice between the two datasets. */
export function DatasetChoice(props: {
  value: DatasetName;
  onChange: (dataset: DatasetName) => void;
}): ReactNode {
  return (
    <Radio.Group label="Dataset" value={props.value} onChange={(value) => props.onChange(value)}>
      <div className={`flex ${classes.datasets}`}>
        {datasetNames.map((name) => (
          <Radio key={name} value={name} label={datasetWords[name]} />
        ))}
      </div>
    </Radio.Group>
  );
}

/** A dataset as a word with the colour that it has in a coverage bar. */
export function DatasetMark({ dataset }: { dataset: DatasetName }): ReactNode {
  return (
    <span className={`mark ${classes.dataset}`} data-dataset={dataset}>
      {datasetWords[dataset]}
    </span>
  );
}
