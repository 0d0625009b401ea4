import { ActionIcon, Popover, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import controls from '../ui/controls.module.css';
import { formatInstant } from '../ui/format.ts';
import { statusLineId } from '../ui/freshness.tsx';
import {
  CheckIcon,
  ChevronDownIcon,
  MoonIcon,
  SearchIcon,
  SunIcon,
  SystemIcon,
  UserIcon,
} from '../ui/icons.tsx';
import { modKeyName, useKeys } from '../ui/keys.ts';
import { lazyPart, takeUpdated } from '../ui/lazy-part.tsx';
import { useSession } from '../ui/session.ts';
import { notify, Toasts } from '../ui/toasts.tsx';
import { useZone, ZoneSwitch } from '../ui/zone-switch.tsx';
import classes from './frame.module.css';
import { Logo } from './logo.tsx';
import { pages } from './pages.ts';
import { Palette } from './palette.tsx';
import { StepUp, signInFailure } from './token-form.tsx';

// The palette is not loaded lazily: whoever presses Ctrl K types on at once, and would type into the page while the
// palette still loads.

const KeyHelp = lazyPart('frame/key-help', async () => (await import('./key-help.tsx')).KeyHelp);

/** What surrounds every page: navigation, header, status line, palette, key help and messages. */
export function Frame(): ReactNode {
  const { overlay, show, close } = useOverlay();
  const navigate = useNavigate();
  useEffect(() => {
    if (takeUpdated()) notify({ text: 'svcctl was updated: this is the new console.' });
  }, []);
  useKeys({
    'mod+k': () => show('palette'),
    // While an overlay is open or still loading, these keys would act on the page below it.
    ...(overlay === null && {
      '?': () => show('keys'),
      '/': () => focusSearch(() => show('palette')),
      ...Object.fromEntries(
        pages.map(({ key, path }) => [`g ${key}`, () => void navigate({ to: path })]),
      ),
    }),
  });
  return (
    <div className={classes.frame}>
      {/* This cannot be a link to the content: the hash names the place that is shown, and must stay. */}
      <button
        type="button"
        className={classes.skip}
        onClick={() => document.getElementById('page')?.focus()}
      >
        Skip to the page
      </button>
      <Navigation />
      <Header onPalette={() => show('palette')} />
      <main id="page" tabIndex={-1} className={classes.page}>
        <Outlet />
      </main>
      <footer className={classes.status}>
        <div id={statusLineId} className={classes.statusLine} />
        <UnstyledButton className={classes.keys} onClick={() => show('keys')}>
          <kbd>?</kbd> keys
        </UnstyledButton>
      </footer>
      {overlay === 'palette' && <Palette onClose={close} onKeys={() => show('keys')} />}
      {overlay === 'keys' && <KeyHelp opened onClose={close} />}
      <StepUp />
      <Toasts />
    </div>
  );
}

type Overlay = 'palette' | 'keys';

/** Which overlay (palette or key help) lies over the page. When it closes, the focus returns to where it was. */
function useOverlay() {
  const [overlay, setOverlay] = useState<Overlay | null>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => {
    if (overlay !== null) return;
    // Mantine returns the focus of a dialog that closes, but not of one that is removed, as these are.
    if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
    before.current = null;
  }, [overlay]);
  return {
    overlay,
    show: (next: Overlay) => {
      before.current ??= document.activeElement;
      setOverlay(next);
    },
    close: () => setOverlay(null),
  };
}

/** Moves the focus to the page's own search field, or calls `otherwise` on a page without one. */
function focusSearch(otherwise: () => void): void {
  const field = document.querySelector<HTMLInputElement>('#page [data-search]');
  if (field === null) {
    otherwise();
    return;
  }
  field.focus();
  field.select();
}

function Navigation(): ReactNode {
  return (
    <nav className={classes.navigation} aria-label="Pages">
      <Link
        to="/records"
        search={{}}
        className={classes.home}
        aria-label="svcctl, to the start page"
      >
        <Logo />
      </Link>
      <h2 id="group-data" className={classes.group}>
        DATA &amp; ADMIN
      </h2>
      <ul aria-labelledby="group-data" className={classes.links}>
        {pages.map(({ path, name, scope, Icon }) => (
          <li key={path}>
            <Link
              to={path}
              search={{}}
              className={classes.link}
              activeOptions={{ includeSearch: false }}
            >
              <Icon />
              {name}
              {scope === 'admin' && <span className={classes.badge}>ADMIN ONLY</span>}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Header({ onPalette }: { onPalette: () => void }): ReactNode {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const page = pages.find((each) => each.path === path);
  return (
    <header className={classes.header}>
      <h1 className={classes.title}>{page?.name ?? 'svcctl'}</h1>
      {page?.scope === 'admin' && <span className={classes.badge}>ADMIN ONLY</span>}
      <UnstyledButton className={classes.search} onClick={onPalette}>
        <SearchIcon />
        <span className={classes.searchText}>Go to tenant, store, month …</span>
        <kbd>{modKeyName()} K</kbd>
      </UnstyledButton>
      <div className={classes.tools}>
        <ZoneSwitch />
        <ThemeSwitch />
        <WhoAmI />
      </div>
    </header>
  );
}

/** The menu of the person: who is signed in, with which scopes, and the button to sign out. */
function WhoAmI(): ReactNode {
  const { actor, signOut } = useSession();
  const [zone] = useZone();
  const leave = () => signOut().catch((error: Error) => notify({ text: signInFailure(error) }));
  const expiry =
    actor.expires_at === null
      ? 'never expires'
      : `expires ${formatInstant(actor.expires_at, zone)}`;
  return (
    <Popover position="bottom-end" width={280} trapFocus returnFocus>
      <Popover.Target>
        <UnstyledButton className={classes.who}>
          <UserIcon />
          <span className="visually-hidden">Signed in as</span>
          <span className={classes.whoName}>{actor.name}</span>
          <ChevronDownIcon />
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={controls.menu} aria-label="Who I am">
        <div className={classes.whoFacts}>
          <strong>{actor.name}</strong>
          <span>{actor.scopes.join(', ')}</span>
          <span>
            {actor.tenants === null ? 'all tenants' : `tenants ${actor.tenants.join(', ')}`}
          </span>
          <span>{expiry}</span>
        </div>
        <a className={controls.menuItem} href="/docs" target="_blank" rel="noreferrer">
          API reference
        </a>
        <button type="button" className={controls.menuItem} onClick={() => void leave()}>
          Sign out
        </button>
      </Popover.Dropdown>
    </Popover>
  );
}

const schemes = [
  { value: 'light', label: 'Light', Icon: SunIcon },
  { value: 'dark', label: 'Dark', Icon: MoonIcon },
  { value: 'auto', label: 'As the system', Icon: SystemIcon },
] as const;

/** The key under which this browser stores the choice of light or dark. */
export const colorSchemeKey = 'svcctl.theme';

/** The choice of light, dark, or whatever the system uses. */
function ThemeSwitch(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const current = schemes.find(({ value }) => value === colorScheme) ?? schemes[2];
  return (
    <Popover position="bottom-end" width={176} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon aria-label={`Theme: ${current.label}`}>
          <current.Icon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={controls.menu} aria-label="Theme">
        {schemes.map(({ value, label, Icon }) => (
          <button
            key={value}
            type="button"
            className={controls.menuItem}
            aria-pressed={value === colorScheme}
            onClick={() => setColorScheme(value)}
          >
            <Icon />
            {label}
            <span className={controls.menuEnd}>{value === colorScheme && <CheckIcon />}</span>
          </button>
        ))}
      </Popover.Dropdown>
    </Popover>
  );
}
