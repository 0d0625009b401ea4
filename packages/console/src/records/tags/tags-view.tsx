import { Button, Modal, Radio } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Page, Tag } from '../../api/types.ts';
import { type DatasetName, datasetNames } from '../../api/values.ts';
import formClasses from '../../ui/form.module.css';
import { formatCount, formatInstant } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { SkeletonRows } from '../../ui/list.tsx';
import { CutText } from '../../ui/marks.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { countOf } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { datasetWords, windowText } from './tag-window.ts';
import classes from './tags.module.css';
import { useDeleteTag } from './use-tags.ts';

export type TagsViewProps = {
  tags: UseQueryResult<Page<Tag>>;
  mayTag: boolean;
  /** The chosen days in words; null means all. */
  days: string | null;
  onAllDays: () => void;
};

/** The list of tags that touch the chosen node, latest first. */
export function TagsView({ tags, mayTag, days, onAllDays }: TagsViewProps): ReactNode {
  const failure = useFailure(tags);
  const [asked, setAsked] = useState<Tag | null>(null);
  const page = tags.data;
  return (
    <div className={classes.view}>
      <div className={classes.bar}>
        <p className={classes.muted}>{page === undefined ? '' : headText(page, days)}</p>
        {days !== null && (
          <Button variant="subtle" onClick={onAllDays}>
            All days
          </Button>
        )}
      </div>
      {page === undefined && failure === null && <SkeletonRows rows={4} label="Loading tags" />}
      {page === undefined && failure !== null && (
        <FailurePanel error={failure} onRetry={() => void tags.refetch()} />
      )}
      {page !== undefined && page.data.length > 0 && (
        <TagsTable tags={page.data} mayTag={mayTag} onUntag={setAsked} />
      )}
      {asked !== null && <UntagQuestion tag={asked} onClose={() => setAsked(null)} />}
    </div>
  );
}

function headText({ data, next_cursor }: Page<Tag>, days: string | null): string {
  const where = days ?? 'the node';
  if (data.length === 0) {
    return `No tag touches ${where}. TAG… marks days as training or fine-tuning data.`;
  }
  const tags = countOf(data.length, 'tag');
  return next_cursor === null
    ? `${tags} that touch ${where}, the latest first`
    : `The latest ${tags} that touch ${where}`;
}

function TagsTable(props: {
  tags: readonly Tag[];
  mayTag: boolean;
  onUntag: (tag: Tag) => void;
}): ReactNode {
  const [zone] = useZone();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by key as well
    <section className={classes.scroll} tabIndex={0} aria-label="Tags">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">DATASET</th>
            <th scope="col">STORE</th>
            <th scope="col">DAYS</th>
            <th scope="col" className={classes.number}>
              RECORDS
            </th>
            <th scope="col">BY</th>
            <th scope="col">NOTE</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.tags.map((tag) => (
            <tr key={tag.id} data-tag={tag.id}>
              <td>
                <DatasetMark dataset={tag.dataset} />
              </td>
              <td className={tag.store === null ? classes.muted : undefined}>
                {tag.store ?? 'all stores'}
              </td>
              <td>{windowText(tag.from, tag.to)}</td>
              <td className={classes.number}>{formatCount(tag.count)}</td>
              <td title={`${formatInstant(tag.created_at, zone)} ${zoneName(zone)}`}>
                {tag.created_by}
              </td>
              <td className={classes.note}>
                <CutText text={tag.note ?? '–'} />
              </td>
              <td className={classes.actions}>
                {props.mayTag && (
                  <Button
                    size="compact-sm"
                    variant="subtle"
                    aria-label={`UNTAG ${datasetWords[tag.dataset]}, ${tag.store ?? 'all stores'}, ${windowText(tag.from, tag.to)}`}
                    onClick={() => props.onUntag(tag)}
                  >
                    UNTAG
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The question before a tag is removed: how many records lose it. */
function UntagQuestion({ tag, onClose }: { tag: Tag; onClose: () => void }): ReactNode {
  const remove = useDeleteTag(onClose);
  return (
    <Modal
      opened
      onClose={onClose}
      centered
      lockScroll={false}
      title={`Untag ${windowText(tag.from, tag.to)} of ${tag.store ?? tag.tenant}?`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <p>
        <strong>{countOf(tag.count, 'record')}</strong> are no {datasetWords[tag.dataset]} data by
        this tag any more. The records stay, and so do versions that were frozen with it.
      </p>
      <p className={classes.fault} role="alert">
        {remove.error === null ? '' : reasonOf(remove.error)}
      </p>
      <div className={formClasses.answers}>
        <Button onClick={onClose} data-autofocus>
          Keep the tag
        </Button>
        <Button
          variant="filled"
          color="red.9"
          loading={remove.isPending}
          onClick={() => remove.mutate(tag)}
        >
          UNTAG
        </Button>
      </div>
    </Modal>
  );
}

/** The choice between the two datasets. */
export function DatasetChoice(props: {
  value: DatasetName;
  onChange: (dataset: DatasetName) => void;
}): ReactNode {
  return (
    <Radio.Group label="Dataset" value={props.value} onChange={(value) => props.onChange(value)}>
      <div className={classes.datasets}>
        {datasetNames.map((name) => (
          <Radio key={name} value={name} size="xs" label={datasetWords[name]} />
        ))}
      </div>
    </Radio.Group>
  );
}

/** A dataset as a word with the colour that it has in a coverage bar. */
export function DatasetMark({ dataset }: { dataset: DatasetName }): ReactNode {
  return (
    <span className={classes.dataset} data-dataset={dataset}>
      {datasetWords[dataset]}
    </span>
  );
}
