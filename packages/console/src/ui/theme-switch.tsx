import { ActionIcon, Popover, useMantineColorScheme } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './controls.module.css';
import { CheckIcon, MoonIcon, SunIcon, SystemIcon } from './icons.tsx';

const schemes = [
  { value: 'light', label: 'Light', Icon: SunIcon },
  { value: 'dark', label: 'Dark', Icon: MoonIcon },
  { value: 'auto', label: 'As the system', Icon: SystemIcon },
] as const;

/** Where the choice is kept in this browser. */
export const colorSchemeKey = 'svcctl.theme';

export function ThemeSwitch(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const current = schemes.find(({ value }) => value === colorScheme) ?? schemes[2];
  return (
    <Popover position="bottom-end" width={176} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon aria-label={`Theme: ${current.label}`}>
          <current.Icon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={classes.menu} aria-label="Theme">
        {schemes.map(({ value, label, Icon }) => (
          <button
            key={value}
            type="button"
            className={classes.menuItem}
            aria-pressed={value === colorScheme}
            onClick={() => setColorScheme(value)}
          >
            <Icon />
            {label}
            <span className={classes.menuEnd}>{value === colorScheme && <CheckIcon />}</span>
          </button>
        ))}
      </Popover.Dropdown>
    </Popover>
  );
}
