import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { isDay } from '../../ui/day-range.ts';
import type { Zone } from '../../ui/format.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import classes from './table.module.css';

/** A field that leads to the records of a time, such as `2001-03-05 14:07`. */
export function Jump({ onJump }: { onJump: (instant: string) => void }): ReactNode {
  const [zone] = useZone();
  const [text, setText] = useState('');
  const [isWrong, setWrong] = useState(false);
  return (
    <form
      className={classes.jump}
      onSubmit={(event) => {
        event.preventDefault();
        const instant = instantOf(text, zone);
        setWrong(instant === undefined);
        if (instant !== undefined) onJump(instant);
      }}
    >
      <TextInput
        aria-label={`Jump to a time (${zoneName(zone)}), as 2001-03-05 14:07`}
        placeholder="Jump to time"
        title="Jump to a time, as 2001-03-05 14:07"
        value={text}
        error={isWrong}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setWrong(false);
        }}
      />
    </form>
  );
}

/** The instant of a day, and of a time of it if one is given, in a zone; undefined for any other text. */
export function instantOf(text: string, zone: Zone): string | undefined {
  const [, day, time = '00:00'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)Z?)?$/.exec(text.trim()) ?? [];
  if (day === undefined || !isDay(day)) return undefined;
  const at = new Date(`${day}T${time}${zone === 'utc' ? 'Z' : ''}`);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
