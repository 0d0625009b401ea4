import { ActionIcon, Popover, TextInput } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import {
  isDay,
  isRangeName,
  rangeText,
  readRange,
  readTimes,
  type Times,
  within,
} from './day-range.ts';
import { type DayRange, type Days, earliestDay, latestDay } from './days.ts';
import { CalendarIcon } from './icons.tsx';
import { lazyPiece } from './lazy-part.tsx';
import classes from './list-page.module.css';

const DayChoices = lazyPiece('DayChoices', () => import('./day-choices.tsx'));

type DayFieldProps = {
  days: Days;
  /** The days that there are to choose from. */
  first?: string | undefined;
  last?: string | undefined;
  /** The months with data, in their order, whose quarters are offered. */
  months?: readonly string[] | undefined;
  /** A label above the field; without it those see none who see the field. */
  label?: string;
  onChange: (days: Days) => void;
  /** Called with hours of days. Without it only whole days are taken. */
  onTimes?: (times: Times) => void;
};

/**
 * The days of a list or a form, by UTC: typed as everywhere in the console (a day, yesterday, 7d, 2026-03, 2026-Q1, two
 * days with dots between them, and where hours can be chosen 2026-03-05T10:00/12:00), or chosen in a calendar. What is
 * complete is in force at once, what could go on, as 2001 or 2001-03, once Enter is pressed or the field is left.
 */
export function DayField(props: DayFieldProps): ReactNode {
  const { days, first = earliestDay, last = latestDay, label } = props;
  const inForce = rangeText(days);
  const [text, setText] = useState(inForce);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const sent = useRef(inForce);
  if (sent.current !== inForce) {
    sent.current = inForce;
    setText(inForce);
    setRefusal(null);
  }
  const bounds = { from: first, to: last };
  const show = (shown: string) => {
    setText(shown);
    setRefusal(null);
  };
  const choose = (written: string): boolean => {
    const times = readTimes(written);
    if (times !== null && props.onTimes !== undefined) {
      const inside = { from: times.from.slice(0, 10), to: times.to.slice(0, 10) };
      if (within(inside, bounds) === null) return false;
      show(inForce);
      props.onTimes(times);
      return true;
    }
    const range = within(readRange(written, new Date()), bounds);
    if (range === null && written !== '') return false;
    const next =
      range === null
        ? {}
        : { from: openAt(range.from, earliestDay), to: openAt(range.to, latestDay) };
    // The field shows the days that are in force now, which may be the same as before.
    if (rangeText(next) === inForce) show(inForce);
    else props.onChange({ from: undefined, to: undefined, ...next });
    return true;
  };
  return (
    <TextInput
      className={`relative ${classes.dayField}`}
      classNames={{ error: `ink nowrap ${classes.dayFault}` }}
      {...(label === undefined ? {} : { label })}
      aria-label={`${label ?? 'Days'} by UTC, as 2026-03-05, yesterday, 7d, 2026-Q1 or 2026-03-05..2026-03-09${props.onTimes === undefined ? '' : ', or times as 2026-03-05T10:00/12:00'}`}
      placeholder="All days"
      leftSection={<span className="muted small">UTC</span>}
      leftSectionWidth={40}
      rightSection={
        <Popover opened={isOpen} onChange={setOpen} position="bottom-end" trapFocus returnFocus>
          <Popover.Target>
            <ActionIcon size={24} aria-label="Choose days" onClick={() => setOpen(!isOpen)}>
              <CalendarIcon />
            </ActionIcon>
          </Popover.Target>
          <Popover.Dropdown>
            <DayChoices
              days={{ from: days.from?.slice(0, 10), to: days.to?.slice(0, 10) }}
              bounds={bounds}
              months={props.months}
              onChoose={(written, isDone) => {
                choose(written);
                if (isDone) setOpen(false);
              }}
            />
          </Popover.Dropdown>
        </Popover>
      }
      error={refusal}
      data-set={inForce !== ''}
      maxLength={33}
      value={text}
      onChange={(event) => {
        const written = event.currentTarget.value;
        show(written);
        if (written === '' || isRangeName(written) || isWhole(written)) choose(written.trim());
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || text === inForce) return;
        // In a form Enter completes the days, and does not send it.
        event.preventDefault();
        if (!choose(text.trim()))
          setRefusal(faultOf(text.trim(), bounds, props.onTimes !== undefined));
      }}
      // What was refused is not in force, and must not look as if it were.
      onBlur={() => text === inForce || choose(text.trim()) || show(inForce)}
    />
  );
}

const openAt = (day: string, end: string) => (day === end ? undefined : day);

/** Whether a text is a day, or two: nothing longer begins so. */
function isWhole(text: string): boolean {
  return text
    .trim()
    .split('..')
    .every((day) => isDay(day.trim()));
}

/** What is wrong with days, as a sentence. */
function faultOf(text: string, { from, to }: DayRange, hasTimes: boolean): string {
  const isTimes = readTimes(text) !== null;
  if (isTimes && !hasTimes) return 'Only whole days can be chosen here';
  if (text.includes('/') && !isTimes) return 'Not two times such as 2026-03-05T10:00/12:00';
  if (!isTimes && readRange(text, new Date()) === null)
    return 'Not days such as 2026-03-05, 7d, 2026-03, 2026-Q1';
  return `None of its days is from ${from} to ${to}`;
}
