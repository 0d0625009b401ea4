import { Button, Textarea } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Tagged } from '../../api/types.ts';
import type { DatasetName } from '../../api/values.ts';
import { Quarters } from '../../ui/day-choices.tsx';
import { DayField } from '../../ui/day-field.tsx';
import { readRange } from '../../ui/day-range.ts';
import { allDays } from '../../ui/days.ts';
import { ActionForm, faultText } from '../../ui/form.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { useFailure } from '../../ui/freshness.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { SkeletonText } from '../../ui/list.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { countOf, datasetWords, pathText } from '../../ui/words.ts';
import { useFullMonths } from '../facts/use-facts.ts';
import { pathOf, type SliceParams } from '../search.ts';
import { CountMatches, useCount, useFirstStretch } from '../table/count-matches.tsx';
import { faultOfWhere } from '../table/records-page.ts';
import { WhereFilter } from '../table/where-filter.tsx';
import { useCreateTag, useTaggedDays, useTagPreview } from './tag-acts.ts';
import {
  newByTag,
  sliceOfTag,
  type TagPlace,
  type TagValues,
  tagOf,
  valuesOf,
} from './tag-window.ts';
import classes from './tags.module.css';
import { DatasetChoice } from './tags-view.tsx';

type TagPanelProps = {
  place: TagPlace;
  /** The table's filter by what is in the records. A tag does not have it: the panel tells how many fit. */
  where: string | undefined;
  /** The digest of the node; undefined when it has no records, or while that is not known. */
  digest: string | undefined;
  onClose: () => void;
};

/** The panel that tags days for a dataset: how many records that is, and whether some would be in both datasets. */
export function TagPanel(props: TagPanelProps): ReactNode {
  const { place, onClose } = props;
  const name = pathText([place.tenant, place.store].filter((part) => part !== undefined));
  return (
    <Panel kind="TAG DAYS OF" title={name} id="tag" closeLabel="Close tag" onClose={onClose}>
      <PanelBody>
        <TagForm {...props} />
      </PanelBody>
    </Panel>
  );
}

/** The form of the panel. It can be sent once the preview of these very days is there. */
function TagForm({ place, where, digest, onClose }: TagPanelProps): ReactNode {
  const [values, setValues] = useTagValues(place);
  const tag = tagOf(place, values);
  const months = useFullMonths(pathOf(place.tenant, place.store), digest);
  const preview = useTagPreview(tag);
  const days = useTaggedDays(sliceOfTag(tag));
  const added = days && newByTag(days, values.dataset);
  const create = useCreateTag(onClose);
  const set = (change: Partial<TagValues>) => {
    setValues((all) => ({ ...all, ...change }));
    if (create.error !== null) create.reset();
  };
  const known = preview.data;
  return (
    <ActionForm
      label="A new tag"
      call={create}
      onSend={() => create.mutate(tag)}
      isReady={known !== undefined}
      button={known === undefined ? 'TAG' : tagText(known.count, added?.newCount)}
      fault={faultText(create.error)}
      others={<Button onClick={onClose}>Cancel</Button>}
    >
      <DatasetChoice value={values.dataset} onChange={(dataset) => set({ dataset })} />
      <div>
        <DayField
          label="Days"
          days={values}
          months={months}
          onChange={({ from, to }) => set({ from, to })}
        />
        {months !== undefined && (
          <Quarters
            days={values}
            months={months}
            bounds={allDays}
            onChoose={(quarter) => set({ ...readRange(quarter, new Date()) })}
          />
        )}
        <p className="muted small">
          {values.from === undefined && values.to === undefined
            ? 'All days, with those to come.'
            : 'With the records of these days that are still to come.'}
        </p>
      </div>
      <Textarea
        label="Note"
        description="For people: why these days. May be empty."
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={4}
        value={values.note}
        onChange={(event) => set({ note: event.currentTarget.value })}
      />
      <Fitting slice={sliceOfTag(tag)} first={where} digest={digest} />
      <Preview preview={preview} dataset={values.dataset} added={added} />
    </ActionForm>
  );
}

/** What the button says. What is tagged already is not counted again, once it is known. */
function tagText(count: number, newCount = count): string {
  return newCount === count
    ? `TAG ${countOf(count, 'record')}`
    : `TAG ${countOf(newCount, 'new record')}`;
}

/** Counts which records of the days fit a `where`. The tag is of all of them; a version keeps those that fit. */
function Fitting(props: {
  /** The tag's tenant, store and days. */
  slice: SliceParams;
  first: string | undefined;
  digest: string | undefined;
}): ReactNode {
  const { slice, first, digest } = props;
  const [where, setWhere] = useState(first);
  const [id, setId] = useState<string>();
  const filter = where === undefined ? null : { ...slice, where };
  const stretch = useFirstStretch(filter);
  const counting = useCount(filter, { id, onId: setId });
  const fault = faultOfWhere(stretch.error);
  return (
    <div>
      <WhereFilter
        label="Where"
        description="Only counts: the tag is of whole days, and a version that is frozen with this keeps those that fit."
        value={where}
        slice={slice}
        digest={digest}
        fault={fault}
        onChange={setWhere}
      />
      <div className={`row gap-8 ${classes.fitting}`} role="status">
        {filter !== null && fault === undefined && !stretch.isLoading && (
          <CountMatches counting={counting} {...(stretch.data && { first: stretch.data })} />
        )}
      </div>
    </div>
  );
}

/** The values of the form. When another node or other days are chosen, the days follow, and the rest stays as typed. */
function useTagValues(place: TagPlace) {
  const [values, setValues] = useState(() => valuesOf(place));
  const { tenant, store, month, from, to, months } = place;
  // The months of a node may grow while the form is open: that must not change days that were typed.
  const key = JSON.stringify([tenant, store, month, from, to, months !== undefined]);
  const [keyBefore, setKeyBefore] = useState(key);
  if (key !== keyBefore) {
    setKeyBefore(key);
    setValues(({ dataset, note }) => ({ ...valuesOf(place), dataset, note }));
  }
  return [values, setValues] as const;
}

/** The preview. Its height never changes, so that nothing moves when the answer comes. */
function Preview(props: {
  preview: UseQueryResult<Tagged>;
  dataset: DatasetName;
  added: ReturnType<typeof newByTag> | undefined;
}): ReactNode {
  const { preview, dataset, added } = props;
  const known = preview.data;
  const failure = useFailure(preview);
  const [warning] = known?.warnings ?? [];
  return (
    <div className={classes.preview} role="status">
      {known === undefined && failure !== null && (
        <p className="grow form-fault">{reasonOf(failure)}</p>
      )}
      {known === undefined && failure === null && <SkeletonText width="260px" />}
      {known !== undefined && (
        <p>
          <strong>{countOf(known.count, 'record')}</strong> · {formatBytes(known.bytes)}, and what
          arrives in these days later.
        </p>
      )}
      {known !== undefined && added !== undefined && added.newCount < known.count && (
        <p>{alreadyText(added, datasetWords[dataset])}</p>
      )}
      {warning !== undefined && (
        <p className="warning">
          <WarningIcon />
          <span>
            <strong>{formatCount(warning.count)}</strong> of them will be in both datasets: they are{' '}
            {datasetWords[other(dataset)]} data already. Each still counts once as covered.
          </span>
        </p>
      )}
    </div>
  );
}

/** How many of the days have the tag already, and what is new. */
function alreadyText(
  { days, newDays, newCount }: ReturnType<typeof newByTag>,
  dataset: string,
): string {
  const tagged = `${formatCount(days - newDays)} of ${countOf(days, 'day')}`;
  if (newCount === 0) return `${tagged} are ${dataset} data already: no record here is new.`;
  return `${tagged} are ${dataset} data already; new: ${countOf(newDays, 'day')}, ${countOf(newCount, 'record')}.`;
}

function other(dataset: DatasetName): DatasetName {
  return dataset === 'training' ? 'fine_tuning' : 'training';
}
