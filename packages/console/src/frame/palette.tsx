import { useRouter } from '@tanstack/react-router';
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { SavedView } from '../api/types.ts';
import { SearchIcon } from '../ui/icons.tsx';
import { useSession } from '../ui/session.ts';
import { eventWord, idKinds } from './id-kinds.ts';
import classes from './palette.module.css';
import {
  type Entry,
  type Overlays,
  pageEntries,
  useActions,
  useNodeActions,
} from './palette-actions.ts';
import { type Search, useSearchOf } from './palette-search.ts';
import { type Recent, useRecents } from './recents.ts';
import { useSavedViews } from './use-saved-views.ts';

const listId = 'palette-list';
const mostViews = 8;
/** How far PgUp and PgDn go. */
const pageStep = 8;

/** The command palette: it finds places, ids and pasted links, and knows pages, acts, and where one was before. */
export function Palette(props: {
  onClose: () => void;
  onKeys: () => void;
  onViews: () => void;
}): ReactNode {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [isAwaited, setAwaited] = useState(false);
  const found = useSearchOf(text);
  const { entries, remember } = useEntries(text, found, props);
  const { history } = useRouter();
  const active = Math.min(at, entries.length - 1);
  const type = (next: string) => {
    setText(next);
    setAt(0);
    setAwaited(false);
  };
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    if (entry.fill !== undefined) return type(entry.fill);
    props.onClose();
    remember(entry);
    // The search of a link was written by a page of the console, so it is used as it is.
    if (entry.href !== undefined) history.push(entry.href.slice(1));
    entry.run?.();
  };
  // If somebody pastes a text and presses Enter before the service has answered, the first result is opened once it is
  // there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the answer is there
  useEffect(() => {
    if (!isAwaited || found.isSearching) return;
    setAwaited(false);
    run(entries[0]);
  }, [isAwaited, found.isSearching]);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextOf(event.key, active, entries.length);
    if (next !== undefined) {
      event.preventDefault();
      setAt(next);
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (found.isSearching && active <= 0) setAwaited(true);
      else run(entries[active]);
    }
  };
  const isAny = entries.length > 0;
  return (
    <PaletteDialog onClose={props.onClose}>
      <div className={`row gap-8 muted line-under ${classes.field}`}>
        <SearchIcon />
        <input
          role="combobox"
          aria-label="Find a tenant, an id, a page or an action"
          aria-autocomplete="list"
          aria-expanded={isAny}
          aria-controls={isAny ? listId : undefined}
          aria-activedescendant={entries[active]?.id}
          placeholder="TX/DFW, an id, a link, or what to do"
          spellCheck={false}
          autoComplete="off"
          maxLength={2000}
          value={text}
          onChange={(event) => type(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button type="button" aria-label="Esc: close" onClick={props.onClose}>
          Esc
        </button>
      </div>
      {isAny ? (
        <Entries entries={entries} active={active} onPoint={setAt} onRun={run} />
      ) : (
        <div className={classes.list}>{!found.isSearching && <NothingFound />}</div>
      )}
      <p role="status" className={`muted small line-over ${classes.state}`}>
        {found.state ?? (isAny ? '↑ ↓ choose · Enter opens · Esc closes' : nothingText(text))}
      </p>
    </PaletteDialog>
  );
}

/** The browser's own dialog: Mantine's is loaded later, but whoever presses Ctrl K types on at once. */
function PaletteDialog(props: { onClose: () => void; children: ReactNode }): ReactNode {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => ref.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, too
    <dialog
      ref={ref}
      // biome-ignore lint/a11y/noRedundantRoles: the page's keys look for it
      role="dialog"
      aria-modal="true"
      aria-label="Find anything"
      className={`float ${classes.dialog}`}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) props.onClose();
      }}
    >
      {props.children}
    </dialog>
  );
}

/** The line to which a key goes; undefined for any other key. */
function nextOf(key: string, active: number, count: number): number | undefined {
  const last = Math.max(0, count - 1);
  const moves: Record<string, number> = {
    ArrowDown: active >= last ? 0 : active + 1,
    ArrowUp: active <= 0 ? last : active - 1,
    PageDown: Math.min(last, active + pageStep),
    PageUp: Math.max(0, active - pageStep),
  };
  return moves[key];
}

/** All lines for a text: what was found comes first; without a text, the last places do. */
function useEntries(text: string, found: Search, overlays: Overlays) {
  const { actor } = useSession();
  const [recents, addRecent] = useRecents(actor.id);
  const here = useNodeActions();
  const actions = useActions(overlays);
  const typed = text.trim().toLowerCase();
  const isMatch = ({ name, note }: Recent | Entry) =>
    `${name} ${note}`.toLowerCase().includes(typed);
  const recent = recents
    .filter(isMatch)
    .map((place): Entry => ({ ...place, id: `recent-${place.href}`, group: 'RECENT' }));
  const views = (useSavedViews().data?.data ?? [])
    .map(toViewEntry)
    .filter(isMatch)
    .slice(0, mostViews);
  const known = new Set(found.entries.map(({ href }) => href));
  const entries = [
    ...found.entries,
    ...recent.filter(({ href }) => !known.has(href)),
    ...views,
    ...[...here, ...pageEntries, ...actions].filter(isMatch),
  ];
  const remember = ({ group, name, note, href }: Entry) => {
    const isPlace = group === 'FOUND' || group === 'RECENT';
    if (isPlace && href !== undefined) addRecent({ name, note, href });
  };
  return { entries, remember };
}

function toViewEntry({ name, address, own, owner }: SavedView): Entry {
  const note = own ? 'yours' : `shared by ${owner.name}`;
  return {
    id: `view-${owner.id}-${name}`,
    group: 'VIEWS',
    name: `View ${name}`,
    note,
    href: address,
  };
}

/** The lines, in groups. The focus stays in the field, so the mouse only points. */
function Entries(props: {
  entries: readonly Entry[];
  active: number;
  onPoint: (index: number) => void;
  onRun: (entry: Entry) => void;
}): ReactNode {
  const { entries, active } = props;
  const groups = [...new Set(entries.map(({ group }) => group))];
  return (
    <div id={listId} role="listbox" aria-label="What is found" className={classes.list}>
      {groups.map((group) => (
        // biome-ignore lint/a11y/useSemanticElements: a listbox may have groups, but no fieldsets
        <div key={group} role="group" aria-label={group}>
          <div className={`caps ${classes.group}`} aria-hidden="true">
            {group}
          </div>
          {entries.map((entry, index) => {
            if (entry.group !== group) return null;
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: keys work in the field, which keeps the focus
              <div
                key={entry.id}
                id={entry.id}
                role="option"
                tabIndex={-1}
                aria-selected={index === active}
                className={`row between gap-16 ${classes.entry}`}
                ref={(element) => {
                  if (index === active) element?.scrollIntoView({ block: 'nearest' });
                }}
                onMouseMove={() => props.onPoint(index)}
                onClick={() => props.onRun(entry)}
              >
                <span className={`cut ${classes.name}`}>{entry.name}</span>
                <span className={`cut muted small right ${classes.note}`}>{entry.note}</span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function nothingText(text: string): string {
  return `Nothing is found for “${text.trim()}”.`;
}

/** Says what can be found, when nothing is. */
function NothingFound(): ReactNode {
  return (
    <dl className={classes.nothing}>
      <dt>Tenants, stores, months</dt>
      <dd>by how their names begin: TX, DFW, TX/DFW/2001-03</dd>
      <dt>Ids, whole</dt>
      <dd>{idKinds.map(({ prefix, noun }) => `${prefix}_ ${noun}`).join(' · ')}</dd>
      <dt>Events</dt>
      <dd>by the whole id, after the word: {eventWord} fl-0812</dd>
      <dt>Links and records</dt>
      <dd>of this console, as they are copied</dd>
      <dt>Actions and pages</dt>
      <dd>by any word of them: export, tag, retry, theme</dd>
    </dl>
  );
}
