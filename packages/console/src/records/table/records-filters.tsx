import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type DatasetName, datasetNames } from '../../api/values.ts';
import { ChoiceFilter, DayFilters, Filters } from '../../ui/filters.tsx';
import { monthEnds, type RecordsSearch } from '../search.ts';
import { datasetWords } from '../tags/tag-window.ts';
import classes from './table.module.css';

const typingPauseMillis = 400;

/** A change of the filters; undefined removes one. */
export type FilterChange = {
  kind?: string | undefined;
  source?: string | undefined;
  event?: string | undefined;
  dataset?: DatasetName | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

export type RecordsFiltersProps = {
  search: RecordsSearch;
  onChange: (change: FilterChange) => void;
};

/** The change that removes all filters. */
export const noFilters: FilterChange = {
  kind: undefined,
  source: undefined,
  event: undefined,
  dataset: undefined,
  from: undefined,
  to: undefined,
};

const datasetChoices = datasetNames.map((value) => ({
  value,
  label: datasetWords[value],
}));

/** The bar with the filters of the table. */
export function RecordsFilters({ search, onChange }: RecordsFiltersProps): ReactNode {
  const { month, kind, source, event, dataset, from, to } = search;
  const [first, last] = month === undefined ? [] : monthEnds(month);
  const isFiltered = [kind, source, event, dataset, from, to].some(
    (filter) => filter !== undefined,
  );
  return (
    <Filters
      label="Filters of the records"
      className={classes.filters}
      values={[kind, source, event, dataset, from, to]}
    >
      <TextFilter name="Event" value={event} onChange={(text) => onChange({ event: text })} />
      <TextFilter name="Kind" value={kind} onChange={(text) => onChange({ kind: text })} />
      <TextFilter name="Source" value={source} onChange={(text) => onChange({ source: text })} />
      <span className={classes.datasetFilter}>
        <ChoiceFilter
          label="Dataset"
          any="any dataset"
          choices={datasetChoices}
          value={dataset}
          onChange={(name) => onChange({ dataset: name })}
        />
      </span>
      <DayFilters from={from} to={to} first={first} last={last} onChange={onChange} />
      {isFiltered && (
        <Button variant="subtle" aria-label="Clear filters" onClick={() => onChange(noFilters)}>
          Clear
        </Button>
      )}
    </Filters>
  );
}

type TextFilterProps = {
  name: string;
  value: string | undefined;
  onChange: (text: string | undefined) => void;
};

/** A field that filters once the person stops typing for a moment. */
function TextFilter({ name, value, onChange }: TextFilterProps): ReactNode {
  const [text, setText] = useState(value ?? '');
  const sent = useRef(value);
  const change = useRef(onChange);
  change.current = onChange;
  if (sent.current !== value) {
    sent.current = value;
    setText(value ?? '');
  }
  useEffect(() => {
    if (text === (sent.current ?? '')) return;
    const timer = setTimeout(() => {
      sent.current = text === '' ? undefined : text;
      change.current(sent.current);
    }, typingPauseMillis);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <TextInput
      className={classes.filter}
      aria-label={`${name}, exactly`}
      placeholder={`${name} =`}
      data-set={value !== undefined}
      autoComplete="off"
      spellCheck={false}
      maxLength={200}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}
