import { Button, NativeSelect, TextInput } from '@mantine/core';
import {
  Fragment,
  type ReactNode,
  useEffect,
  useEffectEvent,
  useId,
  useRef,
  useState,
} from 'react';
import type { Filter, Filters as FiltersOf } from '../api/views.ts';
import { DayField } from './day-field.tsx';
import { filtersOf, noneOf } from './hash-state.ts';
import { ChevronDownIcon, SearchIcon } from './icons.tsx';
import classes from './list-page.module.css';
import { type Change, changeOf } from './list-search.ts';
import type { UpdateSearch } from './use-search.ts';

const typingPauseMillis = 300;

/** The filters of a list. On a phone they are shown once their button is pressed, which says how many are set. */
export function Filters(props: {
  label: string;
  className?: string | undefined;
  /** The values of the filters; undefined where one is not set. */
  values: readonly unknown[];
  /** Removes the filters; undefined where there is no button for it. */
  onClear?: () => void;
  children: ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const count = props.values.filter((value) => value !== undefined).length;
  return (
    <>
      <Button
        className={classes.filterToggle}
        rightSection={<ChevronDownIcon />}
        aria-expanded={isOpen}
        aria-controls={id}
        data-set={count > 0}
        onClick={() => setOpen(!isOpen)}
      >
        {count === 0 ? 'Filter' : `Filter · ${count}`}
      </Button>
      <fieldset
        id={id}
        className={`row wrap gap-8 shrink ${classes.filters} ${props.className ?? ''}`}
        aria-label={props.label}
        data-open={isOpen}
      >
        {props.children}
        {count > 0 && props.onClear !== undefined && (
          <Button variant="subtle" onClick={props.onClear}>
            Clear filters
          </Button>
        )}
      </fieldset>
    </>
  );
}

/** The filters of a list as they are described, in that order. A change of one leads back to the first page. */
export function ListFilters<Search extends object>(props: {
  label: string;
  className?: string | undefined;
  filters: FiltersOf;
  search: Search;
  update: UpdateSearch<Search>;
  /** The filter to which the key `/` moves the focus. */
  searched?: keyof Search;
  /** How choices are called, where that is not what they are. */
  words?: Readonly<Record<string, string>>;
  /** Filters that are drawn in their own way. */
  own?: { readonly [Name in keyof Search]?: ReactNode };
  /** Whether there is a button that removes the filters. */
  isClearable?: boolean;
}): ReactNode {
  const { label, className, filters, searched, words, isClearable = true } = props;
  const update = props.update as UpdateSearch<Change>;
  const own = (props.own ?? {}) as Readonly<Record<string, ReactNode>>;
  return (
    <Filters
      label={label}
      className={className}
      values={filtersOf(props.search, filters)}
      {...(isClearable && { onClear: () => update(noneOf(filters)) })}
    >
      {Object.entries(filters).map(([name, filter]) => (
        <Fragment key={name}>
          {name in own ? (
            own[name]
          ) : (
            <ListFilter
              name={name}
              filter={filter}
              search={props.search as Change}
              words={words}
              isSearch={name === searched}
              onChange={(change) =>
                update(changeOf(filters, change), { replace: name === searched })
              }
            />
          )}
        </Fragment>
      ))}
    </Filters>
  );
}

/** A filter as a field; the first and the last day are one. */
function ListFilter(props: {
  name: string;
  filter: Filter;
  search: Change;
  words: Readonly<Record<string, string>> | undefined;
  isSearch: boolean;
  onChange: (change: Change) => void;
}): ReactNode {
  const { name, filter, search, onChange } = props;
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const field = {
    value: search[name],
    onChange: (value: string | undefined) => onChange({ [name]: value }),
  };
  if (filter.isDay) {
    return name === 'from' && <DayField days={search} onChange={(days) => onChange({ ...days })} />;
  }
  if (filter.choices !== undefined) {
    const choices = filter.choices.map((value) => ({
      value,
      label: props.words?.[value] ?? value,
    }));
    return <ChoiceFilter label={title} any={`Any ${name}`} choices={choices} {...field} />;
  }
  return (
    <TextFilter
      label={filter.label ?? `${title}, exactly`}
      placeholder={`${title} =`}
      isSearch={props.isSearch}
      {...field}
    />
  );
}

/** A text field that filters once the person stops typing for a moment. */
export function TextFilter(props: {
  className?: string | undefined;
  label: string;
  placeholder: string;
  value: string | undefined;
  onChange: (text: string | undefined) => void;
  /** Whether the key `/` moves the focus to this field, and Escape empties it. */
  isSearch?: boolean;
  maxLength?: number;
  onArrowDown?: () => void;
}): ReactNode {
  const { value, isSearch = false, maxLength = 200 } = props;
  const [text, setText] = useState(value ?? '');
  const sent = useRef(value);
  const change = useEffectEvent(props.onChange);
  if (sent.current !== value) {
    sent.current = value;
    setText(value ?? '');
  }
  useEffect(() => {
    if (text === (sent.current ?? '')) return;
    const timer = setTimeout(() => {
      sent.current = text === '' ? undefined : text;
      change(sent.current);
    }, typingPauseMillis);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <TextInput
      className={props.className ?? (isSearch ? classes.search : classes.filter)}
      aria-label={props.label}
      placeholder={props.placeholder}
      leftSection={isSearch ? <SearchIcon /> : undefined}
      {...(isSearch && { 'data-search': true, type: 'search' })}
      data-set={value !== undefined}
      spellCheck={false}
      maxLength={maxLength}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (isSearch && event.key === 'Escape' && text !== '') {
          event.stopPropagation();
          setText('');
        }
        if (event.key === 'ArrowDown' && props.onArrowDown !== undefined) {
          event.preventDefault();
          props.onArrowDown();
        }
      }}
    />
  );
}

/** A choice of one of a few values, or of any. */
export function ChoiceFilter<T extends string>(props: {
  label: string;
  any: string;
  choices: readonly { value: T; label: string }[];
  value: T | undefined;
  onChange: (value: T | undefined) => void;
}): ReactNode {
  const { value, choices } = props;
  return (
    <NativeSelect
      className={classes.choice}
      aria-label={props.label}
      data-set={value !== undefined}
      data={[{ value: '', label: props.any }, ...choices]}
      value={value ?? ''}
      onChange={(event) => {
        const text = event.currentTarget.value;
        props.onChange(choices.find((choice) => choice.value === text)?.value);
      }}
    />
  );
}
