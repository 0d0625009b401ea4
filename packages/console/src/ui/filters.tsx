import { Button, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent, useId, useRef, useState } from 'react';
import { ChevronDownIcon, SearchIcon } from './icons.tsx';
import classes from './list-page.module.css';

const typingPauseMillis = 300;

/**
 * The filters of a list: those that people set most stand in its bar, the others come with a button. On a phone all are
 * shown once their button is pressed, which says how many are set.
 */
export function Filters(props: {
  label: string;
  className?: string | undefined;
  /** The values of the filters; undefined where one is not set. */
  values: readonly unknown[];
  /** Removes the filters; undefined where there is no button for it. */
  onClear?: () => void;
  /** The filters that come with a button. */
  more?: readonly ReactNode[];
  children: ReactNode;
}): ReactNode {
  const { more = [] } = props;
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const count = props.values.filter((value) => value !== undefined).length;
  const toggle = (className: string | undefined, text: string) => (
    <Button
      className={className}
      rightSection={<ChevronDownIcon />}
      aria-expanded={isOpen}
      aria-controls={id}
      onClick={() => setOpen(!isOpen)}
    >
      {text}
    </Button>
  );
  return (
    <>
      {toggle(classes.filterToggle, count === 0 ? 'Filter' : `Filter · ${count}`)}
      <fieldset
        id={id}
        className={`row wrap gap-8 shrink ${classes.filters} ${props.className ?? ''}`}
        aria-label={props.label}
        data-open={isOpen}
      >
        {props.children}
        {more.length > 0 && toggle(classes.moreToggle, isOpen ? 'Fewer filters' : 'More filters')}
        {props.onClear !== undefined && <ClearFilters isSet={count > 0} onClear={props.onClear} />}
        {more.length > 0 && <div className={`row wrap gap-8 ${classes.more}`}>{more}</div>}
      </fieldset>
    </>
  );
}

/** Its room is kept while no filter is set, so that the table below does not move when one is. */
function ClearFilters(props: { isSet: boolean; onClear: () => void }): ReactNode {
  return (
    <Button
      variant="subtle"
      className={classes.clear}
      data-hidden={!props.isSet}
      aria-label="Clear filters"
      onClick={props.onClear}
    >
      Clear
    </Button>
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
