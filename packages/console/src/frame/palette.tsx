import { Modal, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react';
import { api } from '../api/client.ts';
import type { DatasetRow, Page } from '../api/types.ts';
import { decodeRecord, encodeRecord, type RecordIdentity } from '../records/search.ts';
import { formatCount } from '../ui/format.ts';
import { parseSlicePath } from '../ui/hash-state.ts';
import { SearchIcon } from '../ui/icons.tsx';
import { describeFailure } from '../ui/outage.ts';
import { useSession } from '../ui/session.ts';
import { useZone } from '../ui/zone-switch.tsx';
import { pages } from './pages.ts';
import classes from './palette.module.css';

type Entry = { id: string; name: string; note: string; run: () => void };

const listId = 'palette-list';
const mostFound = 12;

/**
 * The command palette. It finds pages, commands, and a tenant, store or month by the start of its path; a pasted link
 * or a record's identity leads to its place.
 */
export function Palette(props: { onClose: () => void; onKeys: () => void }): ReactNode {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [isAwaited, setAwaited] = useState(false);
  const pasted = usePasted(text);
  const found = useSlices(pasted.length > 0 ? '' : text);
  const commands = useCommands(props.onKeys).filter(({ name, note }) =>
    `${name} ${note}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  const entries = [...pasted, ...found.entries, ...commands];
  const active = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    props.onClose();
    entry.run();
  };
  // If somebody pastes a path and presses Enter before the service has answered, the first result is opened once it is
  // there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the answer is there
  useEffect(() => {
    if (!isAwaited || found.isSearching) return;
    setAwaited(false);
    run(entries[0]);
  }, [isAwaited, found.isSearching]);
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1 };
    const next = moves[event.key];
    if (next !== undefined) {
      event.preventDefault();
      setAt((next + entries.length) % Math.max(1, entries.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (found.isSearching && active <= 0) setAwaited(true);
      else run(entries[active]);
    }
  };
  return (
    <Modal
      opened
      onClose={props.onClose}
      withCloseButton={false}
      padding={0}
      size={560}
      yOffset="12vh"
      title={null}
      attributes={{ content: { 'aria-label': 'Go to' } }}
    >
      <div className={classes.field}>
        <SearchIcon />
        <input
          role="combobox"
          aria-label="Go to a page, a node or a record"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={entries[active]?.id}
          placeholder="tenant/store/month, a pasted link or record, or a command"
          data-autofocus
          // The field takes the focus at once. The dialog would set it a moment later, after the first keys.
          // biome-ignore lint/a11y/noAutofocus: the field is what the dialog is for
          autoFocus
          spellCheck={false}
          autoComplete="off"
          maxLength={2000}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
            setAwaited(false);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={listId} role="listbox" aria-label="Places and commands" className={classes.list}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys work in the field, which keeps the focus
          <div
            key={entry.id}
            id={entry.id}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            className={classes.entry}
            ref={(element) => {
              if (index === active) element?.scrollIntoView({ block: 'nearest' });
            }}
            onMouseMove={() => setAt(index)}
            onClick={() => run(entry)}
          >
            <span>{entry.name}</span>
            <span className={classes.note}>{entry.note}</span>
          </div>
        ))}
      </div>
      <p role="status" className={classes.state}>
        {found.state ?? hintOf(entries.length, text.trim())}
      </p>
    </Modal>
  );
}

function hintOf(found: number, text: string): string {
  return found === 0 ? `Nothing begins with “${text}”.` : '↑ ↓ choose · Enter opens · Esc closes';
}

/** An entry for the place that a pasted text names by itself, without a request to the service. */
function usePasted(text: string): Entry[] {
  const router = useRouter();
  const navigate = useNavigate();
  const place = parsePlace(text, window.location.origin);
  switch (place?.type) {
    case undefined:
      return [];
    case 'link':
      return [
        {
          id: 'pasted',
          name: place.href,
          note: 'Open this link',
          // The search of the link was written by a page of the console, so it is used as it is.
          run: () => router.history.push(place.href),
        },
      ];
    case 'record': {
      const { name, search } = place;
      return [
        {
          id: 'pasted',
          name,
          note: 'Open this record',
          run: () => void navigate({ to: '/records', search }),
        },
      ];
    }
  }
}

/** Tenants, stores or months below the typed path. A name is searched as it was typed, then in capitals. */
function useSlices(text: string): {
  entries: Entry[];
  /** What to say below the entries: that the search runs, or why it failed. Null says how many there are. */
  state: string | null;
  isSearching: boolean;
} {
  const navigate = useNavigate();
  const { hasScope } = useSession();
  const [path] = useDebouncedValue(text.trim(), 120);
  const isAllowed = hasScope('enrichment:read');
  const query = useQuery({
    queryKey: ['palette', path],
    queryFn: async ({ signal }) => {
      const rows = await findSlices(path, signal);
      return rows.length > 0 || path === path.toUpperCase()
        ? rows
        : findSlices(path.toUpperCase(), signal);
    },
    enabled: path !== '' && isAllowed,
  });
  if (!isAllowed || text.trim() === '') {
    return { entries: [], state: null, isSearching: false };
  }
  // Until the answer for this text is there, the entries shown belong to the previous text.
  const isSearching = query.isPending || query.isPlaceholderData || path !== text.trim();
  const entries = (query.data ?? []).map((row) => {
    const { tenant, store, month } = row;
    const search = { tenant, ...(store && { store }), ...(month && { month }) };
    const names = [tenant, store, month].filter((name) => name !== null);
    return {
      id: `slice-${names.join('/')}`,
      name: names.join(' › '),
      note: `${formatCount(row.count)} records`,
      run: () => void navigate({ to: '/records', search }),
    };
  });
  if (query.error !== null) {
    const state = `${describeFailure(query.error)}: search later.`;
    return { entries, state, isSearching: false };
  }
  return { entries, state: isSearching ? 'Searching …' : null, isSearching };
}

async function findSlices(path: string, signal: AbortSignal): Promise<DatasetRow[]> {
  const params = { ...parseSlicePath(path), limit: mostFound };
  return (await api.get<Page<DatasetRow>>('/enrichment/datasets', params, signal)).data;
}

/** The entries that need no request: the pages, time zone, theme, keys, a link to this view, and signing out. */
function useCommands(onKeys: () => void): Entry[] {
  const navigate = useNavigate();
  const { signOut } = useSession();
  const [zone, setZone] = useZone();
  const { setColorScheme } = useMantineColorScheme();
  const other = zone === 'utc' ? 'local' : 'utc';
  const command = (id: string, name: string, note: string, run: () => void): Entry => ({
    id: `command-${id}`,
    name,
    note,
    run,
  });
  return [
    ...pages.map(({ path, name, purpose, key }) =>
      command(key, `Go to ${name}`, purpose, () => void navigate({ to: path })),
    ),
    command('zone', `Show times in ${other === 'utc' ? 'UTC' : 'local time'}`, 'Time zone', () =>
      setZone(other),
    ),
    command('light', 'Light theme', 'Theme', () => setColorScheme('light')),
    command('dark', 'Dark theme', 'Theme', () => setColorScheme('dark')),
    command('auto', 'Theme as the system', 'Theme', () => setColorScheme('auto')),
    command('keys', 'Show all keys', '?', onKeys),
    command('link', 'Copy link to this view', 'Link', () => {
      void navigator.clipboard.writeText(window.location.href);
    }),
    command('out', 'Sign out', 'Session', () => void signOut()),
  ];
}

/** What a pasted text names: a place of this console, or one record. */
type PastedPlace =
  | { readonly type: 'link'; readonly href: string }
  | { readonly type: 'record'; readonly name: string; readonly search: RecordPlace };

type RecordPlace = { tenant: string; store: string; month: string; record: string };

const oneRecordPath = '/api/v1/enrichment/records/one';

/**
 * Reads a link of this console, a link to one record in the API, or a record's identity as links have it:
 * `TX/DFW/2001-03-01T00:05:00.000000Z/fl-0812`. Undefined for any other text, and for links to other hosts, which may
 * look alike but hold other data.
 */
export function parsePlace(text: string, origin: string): PastedPlace | undefined {
  const pasted = text.trim();
  if (isPlaceHash(pasted)) return { type: 'link', href: pasted.slice(1) };
  const url = URL.canParse(pasted) ? new URL(pasted) : undefined;
  if (url === undefined) return placeOf(decodeRecord(pasted));
  if (url.origin !== origin) return undefined;
  if (url.pathname === oneRecordPath) return placeOf(identityOf(url.searchParams));
  return isPlaceHash(url.hash) ? { type: 'link', href: url.hash.slice(1) } : undefined;
}

/** Whether a hash is `#/` and a name. A browser's history would take `#//host` for a path of another host. */
function isPlaceHash(hash: string): boolean {
  return /^#\/[^/\\]/.test(hash);
}

/** The place of a record; undefined when its time is no instant. */
function placeOf(identity: RecordIdentity | null): PastedPlace | undefined {
  if (identity === null || !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(identity.occurred_at))
    return undefined;
  const { tenant, store, occurred_at } = identity;
  const name = encodeRecord(identity);
  return {
    type: 'record',
    name,
    search: { tenant, store, month: occurred_at.slice(0, 7), record: name },
  };
}

function identityOf(params: URLSearchParams): RecordIdentity | null {
  const names = ['tenant', 'store', 'occurred_at', 'event_id'];
  return decodeRecord(names.map((name) => params.get(name) ?? '').join('/'));
}
