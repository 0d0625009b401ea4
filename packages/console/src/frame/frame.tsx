import { ActionIcon, UnstyledButton } from '@mantine/core';
import { useDisclosure, useWindowEvent } from '@mantine/hooks';
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { approvalEvent, type StepUpRequest, stepUpEvent } from '../api/client.ts';
import { Banner, statusLineId } from '../ui/freshness.tsx';
import { MenuIcon, SearchIcon } from '../ui/icons.tsx';
import { modKeyName, useFocusReturn, useKeys } from '../ui/keys.ts';
import { lazyPart, takeUpdated } from '../ui/lazy-part.tsx';
import { PanelSlot } from '../ui/panel.tsx';
import { notify, Toasts } from '../ui/toasts.tsx';
import classes from './frame.module.css';
import navigationClasses from './navigation.module.css';
import { AdminOnly, Navigation } from './navigation.tsx';
import { pages } from './pages.ts';
import { Palette } from './palette.tsx';
import { Tools } from './tools.tsx';

// The palette is not loaded lazily: whoever presses Ctrl K types on at once, and would type into the page while the
// palette still loads.

export const KeyHelp = lazyPart('KeyHelp', () => import('./key-help.tsx'));

export const StepUpDialog = lazyPart('StepUpDialog', () => import('./ask-token.tsx'));
export const KeptDialog = lazyPart('KeptDialog', () => import('./ask-token.tsx'));

export const SavedViews = lazyPart('SavedViews', () => import('./saved-views.tsx'));

export const Menu = lazyPart('Menu', () => import('./menu.tsx'));

/** What surrounds every page: navigation, header, status line, palette, key help and messages. */
export function Frame(): ReactNode {
  const { overlay, show, close } = useOverlay();
  const navigate = useNavigate();
  const [panelSlot, setPanelSlot] = useState<HTMLElement | null>(null);
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
        className={`float ${classes.skip}`}
        onClick={() => document.getElementById('page')?.focus()}
      >
        Skip to the page
      </button>
      <Navigation />
      <Header onPalette={() => show('palette')} onViews={() => show('views')} />
      <Banner className={classes.banner} />
      <main id="page" tabIndex={-1} className={classes.page}>
        <PanelSlot value={panelSlot}>
          <Outlet />
        </PanelSlot>
      </main>
      <div ref={setPanelSlot} className={classes.panel} />
      <footer className={`flex between small line-over ${classes.status}`}>
        <div id={statusLineId} className={`row grow shrink ${classes.statusLine}`} />
        <UnstyledButton className={`muted small ${classes.keys}`} onClick={() => show('keys')}>
          <kbd>?</kbd> keys
        </UnstyledButton>
      </footer>
      {overlay === 'palette' && (
        <Palette onClose={close} onKeys={() => show('keys')} onViews={() => show('views')} />
      )}
      {overlay === 'keys' && <KeyHelp opened onClose={close} />}
      {overlay === 'views' && <SavedViews onClose={close} />}
      <StepUp />
      <Kept />
      <Toasts />
    </div>
  );
}

type Overlay = 'palette' | 'keys' | 'views';

/** Which overlay (palette, key help or saved views) lies over the page. */
function useOverlay() {
  const [overlay, setOverlay] = useState<Overlay | null>(null);
  const rememberFocus = useFocusReturn(overlay !== null);
  return {
    overlay,
    show: (next: Overlay) => {
      rememberFocus();
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

function Header(props: { onPalette: () => void; onViews: () => void }): ReactNode {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const page = pages.find((each) => each.path === path);
  return (
    <header className={`row gap-12 line-under ${classes.header}`}>
      <MenuButton onViews={props.onViews} />
      <div className={`row gap-12 ${classes.here}`}>
        <h1 className={classes.title}>{page?.name ?? 'svcctl'}</h1>
        {page?.scope === 'admin' && <AdminOnly />}
      </div>
      <UnstyledButton
        className={`box row gap-8 muted shrink ${classes.search}`}
        onClick={props.onPalette}
      >
        <SearchIcon />
        <span className={`cut grow ${classes.searchText}`}>Find a tenant, an id, an action …</span>
        <kbd>{modKeyName()} K</kbd>
      </UnstyledButton>
      <Tools onViews={props.onViews} />
    </header>
  );
}

/** The button that opens the pages and tools over a narrow page. It closes when another page is opened. */
function MenuButton({ onViews }: { onViews: () => void }): ReactNode {
  const [isOpen, { open, close }] = useDisclosure();
  const rememberFocus = useFocusReturn(isOpen);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the page is another one
  useEffect(close, [path]);
  return (
    <>
      <ActionIcon
        className={navigationClasses.menuButton}
        size={40}
        aria-label="Menu"
        onClick={() => {
          rememberFocus();
          open();
        }}
      >
        <MenuIcon />
      </ActionIcon>
      {isOpen && <Menu onClose={close} onViews={onViews} />}
    </>
  );
}

/** Asks for the access token once more when calls need it, once for all of them, and then lets them go on. */
function StepUp(): ReactNode {
  const [requests, setRequests] = useState<readonly StepUpRequest[]>([]);
  const isAsking = requests.length > 0;
  const rememberFocus = useFocusReturn(isAsking);
  useWindowEvent(stepUpEvent, (event: CustomEvent<StepUpRequest>) => {
    event.preventDefault();
    rememberFocus();
    setRequests((all) => [...all, event.detail]);
  });
  const settle = (isConfirmed: boolean) => {
    for (const request of requests) request.settle(isConfirmed);
    setRequests([]);
  };
  if (!isAsking) return null;
  return <StepUpDialog onConfirmed={() => settle(true)} onClose={() => settle(false)} />;
}

/** Says what happens next when a call of any page waits for somebody else to confirm it. */
function Kept(): ReactNode {
  const [text, setText] = useState<string | null>(null);
  const rememberFocus = useFocusReturn(text !== null);
  useWindowEvent(approvalEvent, (event: CustomEvent<string>) => {
    rememberFocus();
    setText(event.detail);
  });
  return text !== null && <KeptDialog text={text} onClose={() => setText(null)} />;
}
