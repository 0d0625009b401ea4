import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Filter, Filters as FiltersOf } from '../api/views.ts';
import { DayField } from './day-field.tsx';
import { rangeText } from './day-range.ts';
import type { Days } from './days.ts';
import { ChoiceFilter, Filters, TextFilter } from './filters.tsx';
import { filtersOf, noneOf } from './hash-state.ts';
import classes from './list-page.module.css';
import { type Change, changeOf } from './list-search.ts';
import type { UpdateSearch } from './use-search.ts';
import { shortId } from './words.ts';

/** How the values of a filter are called. Of a filter that may be any text, these are the values to choose from. */
export type FilterWords = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The filters of a list as they are described. A change of one leads back to the first page. */
export function ListFilters<Search extends object>(props: {
  label: string;
  className?: string | undefined;
  filters: FiltersOf;
  search: Search;
  update: UpdateSearch<Search>;
  /** The filter to which the key `/` moves the focus: it stands first. */
  searched?: keyof Search;
  words?: FilterWords | undefined;
  /** What stands behind the filters that are in force. */
  children?: ReactNode;
}): ReactNode {
  const { label, className, filters, searched, words = {} } = props;
  const search = props.search as Change;
  const update = props.update as UpdateSearch<Change>;
  const change = (name: string, to: Change) =>
    update(changeOf(filters, to), { replace: name === searched });
  // The last day has no field of its own, because the days are one.
  const names = Object.keys(filters).filter((name) => name !== 'to');
  names.sort((a, b) => Number(b === searched) - Number(a === searched));
  const field = (name: string) => (
    <ListFilter
      key={name}
      name={name}
      filter={filters[name] ?? {}}
      search={search}
      words={words[name]}
      isSearch={name === searched}
      onChange={(to) => change(name, to)}
    />
  );
  const others = names.filter((name) => !filters[name]?.isUsual);
  return (
    <Filters
      label={label}
      className={className}
      values={filtersOf(search, filters)}
      onClear={() => update(noneOf(filters))}
      more={others.filter((name) => !filters[name]?.isLinked).map(field)}
    >
      {names.filter((name) => filters[name]?.isUsual).map(field)}
      {others.map((name) => (
        <Chip
          key={name}
          name={name}
          filter={filters[name] ?? {}}
          search={search}
          words={words[name]}
          onRemove={(to) => change(name, to)}
        />
      ))}
      {props.children}
    </Filters>
  );
}

type ListFilterProps = {
  name: string;
  filter: Filter;
  search: Change;
  words: Readonly<Record<string, string>> | undefined;
};

function titleOf({ name, filter }: ListFilterProps): string {
  return filter.title ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function wordOf({ filter, words }: ListFilterProps, value: string): string {
  return words?.[value] ?? (filter.value === 'id' ? shortId(value) : value);
}

/** A filter that is in force and whose field is not always there, with the way to remove it. */
function Chip(props: ListFilterProps & { onRemove: (change: Change) => void }): ReactNode {
  const { name, filter, search } = props;
  const value = filter.isDay ? rangeText(search) : (search[name] ?? '');
  if (value === '') return null;
  const text = filter.isDay
    ? `${value.includes('T') ? 'Times' : 'Days'} ${value}`
    : `${titleOf(props)} ${wordOf(props, value)}`;
  return (
    <Button
      className={classes.chip}
      aria-label={`${text} ×, remove this filter`}
      title={text}
      onClick={() =>
        props.onRemove(filter.isDay ? { from: undefined, to: undefined } : { [name]: undefined })
      }
    >
      <span className="cut">{text}</span>&nbsp;×
    </Button>
  );
}

/** A filter as a field; the first and the last day are one. */
function ListFilter(
  props: ListFilterProps & { isSearch: boolean; onChange: (change: Change) => void },
): ReactNode {
  const { name, filter, search, words, isSearch, onChange } = props;
  const title = titleOf(props);
  const value = search[name];
  const set = (text: string | undefined) => onChange({ [name]: text });
  if (filter.isDay) {
    const chosen = (days: Days) => onChange({ ...days });
    return <DayField days={search} onChange={chosen} {...(filter.isTime && { onTimes: chosen })} />;
  }
  const choices = filter.choices ?? (words && Object.keys(words));
  if (choices !== undefined) {
    // A link may name what is in no list.
    const all = value === undefined || choices.includes(value) ? choices : [value, ...choices];
    return (
      <ChoiceFilter
        label={filter.label ?? title}
        any={`Any ${(filter.title ?? name).toLowerCase()}`}
        choices={all.map((each) => ({ value: each, label: wordOf(props, each) }))}
        value={value}
        onChange={set}
      />
    );
  }
  return (
    <TextFilter
      label={filter.label ?? `${title}, exactly`}
      placeholder={isSearch && filter.title !== undefined ? title : `${title} =`}
      isSearch={isSearch}
      value={value}
      onChange={set}
    />
  );
}
