import { Button, Radio, Textarea, TextInput } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Tagged } from '../../api/types.ts';
import type { DatasetName } from '../../api/values.ts';
import { type DayRange, isDay, isRangeName, readRange } from '../../ui/day-range.ts';
import { ActionForm, faultText } from '../../ui/form.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { useFailure } from '../../ui/freshness.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { SkeletonText } from '../../ui/list.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { countOf, datasetWords } from '../../ui/words.ts';
import type { SliceParams } from '../search.ts';
import { CountMatches, useCount } from '../table/count-matches.tsx';
import { faultOfWhere } from '../table/records-page.ts';
import { WhereFilter } from '../table/where-filter.tsx';
import { useCreateTag, useTagPreview } from './tag-acts.ts';
import {
  faultOf,
  quartersOf,
  sliceOfTag,
  type TagPlace,
  type TagValues,
  tagOf,
  valuesOf,
} from './tag-window.ts';
import classes from './tags.module.css';
import { DatasetChoice } from './tags-view.tsx';

export type TagPanelProps = {
  place: TagPlace;
  /** The table's filter by what is in the records. A tag does not have it: the panel tells how many fit. */
  where: string | undefined;
  /** The digest of the node; undefined when it has no records, or while that is not known. */
  digest: string | undefined;
  onClose: () => void;
};

/**
 * The panel that tags: it asks which dataset and which days, and shows how many records that is, and whether some would
 * be in both datasets.
 */
export function TagPanel(props: TagPanelProps): ReactNode {
  const { place, onClose } = props;
  const name = [place.tenant, place.store].filter((part) => part !== undefined).join(' › ');
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
  const fault = faultOf(values);
  const preview = useTagPreview(fault === null ? tagOf(place, values) : null);
  const create = useCreateTag(onClose);
  const set = (change: Partial<TagValues>) => {
    setValues((all) => ({ ...all, ...change }));
    if (create.error !== null) create.reset();
  };
  // A preview of other days must not be confirmed: the numbers would be wrong.
  const known = fault !== null || preview.isPlaceholderData ? undefined : preview.data;
  return (
    <ActionForm
      label="A new tag"
      call={create}
      onSend={() => create.mutate(tagOf(place, values))}
      isReady={known !== undefined}
      button={known === undefined ? 'TAG' : `TAG ${countOf(known.count, 'record')}`}
      fault={faultText(create.error)}
      others={<Button onClick={onClose}>Cancel</Button>}
    >
      <DatasetChoice value={values.dataset} onChange={(dataset) => set({ dataset })} />
      <WindowChoice place={place} values={values} set={set} />
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
      <Fitting
        slice={fault === null ? sliceOfTag(tagOf(place, values)) : null}
        first={where}
        digest={digest}
      />
      <Preview fault={fault} known={known} preview={preview} dataset={values.dataset} />
    </ActionForm>
  );
}

/** Counts which records of the days fit a `where`. The tag is of all of them; a version keeps those that fit. */
function Fitting(props: {
  /** The tag's tenant, store and days; null while they are wrong. */
  slice: SliceParams | null;
  first: string | undefined;
  digest: string | undefined;
}): ReactNode {
  const { slice, first, digest } = props;
  const [where, setWhere] = useState(first);
  const isAsked = slice !== null && where !== undefined;
  const counting = useCount(isAsked ? { ...slice, where } : null, true);
  const fault = faultOfWhere(counting.error);
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
        {isAsked && fault === undefined && <CountMatches counting={counting} />}
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

/** The choice of days: all, the month of the node, or a range. */
function WindowChoice(props: {
  place: TagPlace;
  values: TagValues;
  set: (change: Partial<TagValues>) => void;
}): ReactNode {
  const { place, values, set } = props;
  return (
    <Radio.Group label="Days" value={values.window} onChange={(window) => set({ window })}>
      <div className={`stack gap-8 ${classes.windows}`}>
        {place.month !== undefined && <Radio value="month" size="xs" label={place.month} />}
        <Radio value="all" size="xs" label="all days, with those to come" />
        <div className="row wrap gap-8">
          <Radio value="range" size="xs" label="from" />
          <DayInput
            label="First day"
            value={values.from}
            onChange={(from) => set({ from, window: 'range' })}
            onRange={(range) => set({ ...range, window: 'range' })}
          />
          <span>to</span>
          <DayInput
            label="Last day"
            value={values.to}
            onChange={(to) => set({ to, window: 'range' })}
            onRange={(range) => set({ ...range, window: 'range' })}
          />
        </div>
        {place.months !== undefined && place.month === undefined && (
          <fieldset className={`flex wrap gap-6 ${classes.quarters}`} aria-label="Quarters">
            {quartersOf(place.months).map(({ name, from, to }) => (
              <Button
                key={name}
                size="compact-xs"
                aria-pressed={values.window === 'range' && values.from === from && values.to === to}
                onClick={() => set({ from, to, window: 'range' })}
              >
                {name}
              </Button>
            ))}
          </fieldset>
        )}
      </div>
    </Radio.Group>
  );
}

/** A field for a day; both are set by the name of a range, and by Enter where more could follow, as after 2001-q1. */
function DayInput(props: {
  label: string;
  value: string;
  onChange: (day: string) => void;
  onRange: (range: DayRange) => void;
}): ReactNode {
  const set = (text: string, isWhole: boolean) => {
    const range = isWhole && !isDay(text) ? readRange(text, new Date()) : null;
    // The names of ranges have spaces inside.
    if (range === null) props.onChange(/^[\s\d-]+$/.test(text) ? text.trim() : text);
    else props.onRange(range);
  };
  return (
    <TextInput
      aria-label={props.label}
      placeholder="YYYY-MM-DD"
      autoComplete="off"
      maxLength={22}
      className={classes.dayInput}
      value={props.value}
      onChange={({ currentTarget: { value } }) => set(value, isRangeName(value))}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || isDay(props.value)) return;
        // Enter completes the days here, and does not send the form.
        event.preventDefault();
        set(props.value, true);
      }}
    />
  );
}

/** The preview. Its height never changes, so that nothing moves when the answer comes. */
function Preview(props: {
  fault: string | null;
  /** What the tag would cover; undefined while that is not known. */
  known: Tagged | undefined;
  preview: UseQueryResult<Tagged>;
  dataset: DatasetName;
}): ReactNode {
  const { fault, known, preview, dataset } = props;
  const failure = useFailure(preview);
  const [warning] = known?.warnings ?? [];
  return (
    <div className={classes.preview} role="status">
      {fault !== null && <p className="grow form-fault">{fault}</p>}
      {fault === null && known === undefined && failure !== null && (
        <p className="grow form-fault">{reasonOf(failure)}</p>
      )}
      {fault === null && known === undefined && failure === null && <SkeletonText width="260px" />}
      {known !== undefined && (
        <p>
          <strong>{countOf(known.count, 'record')}</strong> · {formatBytes(known.bytes)}, and what
          arrives in these days later.
        </p>
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

function other(dataset: DatasetName): DatasetName {
  return dataset === 'training' ? 'fine_tuning' : 'training';
}
