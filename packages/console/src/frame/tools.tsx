import { ActionIcon, Popover, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import type { ReactNode } from 'react';
import controls from '../ui/controls.module.css';
import { formatInstant } from '../ui/format.ts';
import {
  CheckIcon,
  ChevronDownIcon,
  MoonIcon,
  SunIcon,
  SystemIcon,
  UserIcon,
} from '../ui/icons.tsx';
import { useSession } from '../ui/session.ts';
import { useZone, ZoneSwitch } from '../ui/zone-switch.tsx';
import classes from './tools.module.css';

/** What the person chooses for all pages, and who that is: at the right of the header. */
export function Tools({ onViews }: { onViews: () => void }): ReactNode {
  return (
    <div className={`row gap-4 ${classes.tools}`}>
      <button type="button" className={`muted ${controls.textButton}`} onClick={onViews}>
        VIEWS
      </button>
      <ZoneSwitch />
      <ThemeSwitch />
      <WhoAmI />
    </div>
  );
}

/** The same as a list, for the menu of a narrow screen. */
export function ToolsList({ onViews }: { onViews: () => void }): ReactNode {
  return (
    <div className={classes.list}>
      <button type="button" className={controls.menuItem} onClick={onViews}>
        Saved views
      </button>
      <section className={classes.part} aria-label="Times">
        <ZoneSwitch />
      </section>
      <section className={classes.part} aria-label="Theme">
        <Schemes />
      </section>
      <section className={classes.part} aria-label="Who I am">
        <Who />
      </section>
    </div>
  );
}

/** The menu of the person: who is signed in, with which scopes, and the button to sign out. */
function WhoAmI(): ReactNode {
  const { actor } = useSession();
  return (
    <Popover position="bottom-end" width={280} trapFocus returnFocus>
      <Popover.Target>
        <UnstyledButton className={`row gap-6 muted ${classes.who}`}>
          <UserIcon />
          <span className="visually-hidden">Signed in as</span>
          {/* A person’s address stands in the menu. */}
          <span className={`cut ${classes.whoName}`}>{actor.name.replace(/ <.*/, '')}</span>
          <ChevronDownIcon />
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={controls.menu} aria-label="Who I am">
        <Who />
      </Popover.Dropdown>
    </Popover>
  );
}

function Who(): ReactNode {
  const { actor, signOut } = useSession();
  const [zone] = useZone();
  const expiry =
    actor.expires_at === null
      ? 'never expires'
      : `expires ${formatInstant(actor.expires_at, zone)}`;
  return (
    <>
      <div className={`stack muted small break line-under below-4 ${classes.whoFacts}`}>
        <strong>{actor.name}</strong>
        <span>{actor.scopes.join(', ')}</span>
        <span>
          {actor.tenants === null
            ? 'all tenants'
            : actor.stores
              ? `stores ${actor.stores.join(', ')}`
              : `tenants ${actor.tenants.join(', ')}`}
        </span>
        <span>{expiry}</span>
      </div>
      <a className={controls.menuItem} href="/docs" target="_blank" rel="noreferrer">
        API reference
      </a>
      <button type="button" className={controls.menuItem} onClick={() => void signOut()}>
        Sign out
      </button>
    </>
  );
}

const schemes = [
  { value: 'light', label: 'Light', Icon: SunIcon },
  { value: 'dark', label: 'Dark', Icon: MoonIcon },
  { value: 'auto', label: 'As the system', Icon: SystemIcon },
] as const;

/** The key under which this browser stores the choice of light or dark. The script in index.html reads it, too. */
export const colorSchemeKey = 'svcctl.theme';

/** The choice of light, dark, or whatever the system uses. */
export function ThemeSwitch(): ReactNode {
  const { colorScheme } = useMantineColorScheme();
  const current = schemes.find(({ value }) => value === colorScheme) ?? schemes[2];
  return (
    <Popover position="bottom-end" width={176} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon aria-label={`Theme: ${current.label}`}>
          <current.Icon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={controls.menu} aria-label="Theme">
        <Schemes />
      </Popover.Dropdown>
    </Popover>
  );
}

function Schemes(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return schemes.map(({ value, label, Icon }) => (
    <button
      key={value}
      type="button"
      className={controls.menuItem}
      aria-pressed={value === colorScheme}
      onClick={() => setColorScheme(value)}
    >
      <Icon />
      {label}
      <span className="flex push">{value === colorScheme && <CheckIcon />}</span>
    </button>
  ));
}
