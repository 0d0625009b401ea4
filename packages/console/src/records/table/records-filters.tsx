import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type DatasetName, datasetNames } from '../../api/values.ts';
import { ChoiceFilter, Filters } from '../../ui/filters.tsx';
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
  const [first, last] = month === undefined ? ['1970-01-01', undefined] : monthEnds(month);
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
      <DayFilter
        name="From"
        value={from}
        first={first}
        last={to ?? last}
        onChange={(day) => onChange({ from: day })}
      />
      <DayFilter
        name="To"
        value={to}
        first={from ?? first}
        last={last}
        onChange={(day) => onChange({ to: day })}
      />
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

type DayFilterProps = {
  name: string;
  value: string | undefined;
  first: string | undefined;
  last: string | undefined;
  onChange: (day: string | undefined) => void;
};

/**
 * A field for a day, written as everywhere on the page. A date picker would use the browser's own order; days can be
 * picked in the strip of days.
 */
function DayFilter({ name, value, first, last, onChange }: DayFilterProps): ReactNode {
  const [text, setText] = useState(value ?? '');
  const sent = useRef(value);
  if (sent.current !== value) {
    sent.current = value;
    setText(value ?? '');
  }
  const fault = text === '' || text === value ? null : faultOf(text, first, last);
  return (
    <div className={classes.dayFilter}>
      <span aria-hidden="true">{name}</span>
      <TextInput
        aria-label={`${name} day, as 2026-03-05`}
        placeholder="YYYY-MM-DD"
        title={fault ?? ''}
        error={fault !== null && text.length >= 10}
        data-set={value !== undefined}
        autoComplete="off"
        maxLength={10}
        value={text}
        onChange={(event) => {
          const day = event.currentTarget.value;
          setText(day);
          if (day !== '' && faultOf(day, first, last) !== null) return;
          const next = day === '' ? undefined : day;
          if (next === value) return;
          sent.current = next;
          onChange(next);
        }}
      />
    </div>
  );
}

/** What is wrong with a day, as a sentence; null when nothing is. `first` and `last` are those of the node. */
function faultOf(text: string, first: string | undefined, last: string | undefined): string | null {
  const date = new Date(`${text}T00:00:00Z`);
  const isDay =
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(date.getTime()) &&
    date.toISOString().startsWith(text);
  if (!isDay) return 'Not a day such as 2026-03-05';
  if (first !== undefined && text < first) return `Not before ${first}`;
  if (last !== undefined && text > last) return `Not after ${last}`;
  return null;
}
