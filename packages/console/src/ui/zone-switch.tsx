import { UnstyledButton } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import type { ReactNode } from 'react';
import classes from './controls.module.css';
import type { Zone } from './format.ts';

/** The zone in which all times are shown. The choice is stored in this browser. */
export function useZone(): [Zone, (zone: Zone) => void] {
  const [zone, setZone] = useLocalStorage<Zone>({
    key: 'svcctl.zone',
    defaultValue: 'utc',
    getInitialValueInEffect: false,
    deserialize: (text) => (text === 'local' ? 'local' : 'utc'),
    serialize: (value) => value,
  });
  return [zone, setZone];
}

/** The name of a zone: UTC, or this browser's own. */
export function zoneName(zone: Zone): string {
  return zone === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Says that days begin and end by UTC, where times are shown in another zone: nobody should take them for local days. */
export function UtcDays(): ReactNode {
  const [zone] = useZone();
  return zone === 'utc' ? null : <span className="muted small nowrap">days are UTC</span>;
}

/** The switch between UTC and the browser's own zone. */
export function ZoneSwitch(): ReactNode {
  const [zone, setZone] = useZone();
  const other = zone === 'utc' ? 'local' : 'utc';
  return (
    <UnstyledButton
      className={`muted small nowrap ${classes.textButton}`}
      onClick={() => setZone(other)}
      aria-label={`Times in ${zoneName(zone)}. Switch to ${other === 'utc' ? 'UTC' : 'local time'}`}
      title={`Times are in ${zoneName(zone)}. Click for ${other === 'utc' ? 'UTC' : 'local time'}.`}
    >
      {zone === 'utc' ? 'UTC' : `Local · ${zoneName('local')}`}
    </UnstyledButton>
  );
}
