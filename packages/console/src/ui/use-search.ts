import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { type PanelPlace, panelText, parsePanel } from './panel-place.ts';

/** What an entry of the history says beside the view state. */
type Step = {
  /** Whether the entry differs from the one before only by the panel that it opens. */
  isPanelStep?: boolean;
  /** The cursors of the pages of a list through which this one was reached; undefined is that of the first. */
  way?: readonly (string | undefined)[] | undefined;
};

/** `replace`: the change is no step for Back. */
type SearchOptions = Step & { replace?: boolean };

declare module '@tanstack/react-router' {
  interface HistoryState extends Step {}
}

/** Changes the view state by a function of the one before: a step for Back, unless it replaces that one. */
export type ChangeSearch<S> = (change: (before: S) => S, options?: SearchOptions) => void;

type Changes<S> = { [Key in keyof S]?: S[Key] | undefined };

/** Changes the view state by the fields that change; `undefined` removes a field. */
export type UpdateSearch<S> = (change: Changes<S>, options?: SearchOptions) => void;

/** The pages whose view state is in the hash. */
export type PagePath =
  | '/jobs'
  | '/records'
  | '/exports'
  | '/dlq'
  | '/deliveries'
  | '/endpoints'
  | '/incidents'
  | '/retention'
  | '/access';

/** The view state that a page keeps in the hash, and a function that changes it. */
export function useHashSearch<S extends object>(
  path: PagePath,
  validate: (raw: Record<string, unknown>) => S,
): [S, ChangeSearch<S>] {
  const raw: Record<string, unknown> = useSearch({ strict: false });
  const text = JSON.stringify(raw);
  const search = useMemo(
    () => validate(JSON.parse(text) as Record<string, unknown>),
    [text, validate],
  );
  const navigate = useNavigate();
  const change = useCallback<ChangeSearch<S>>(
    (next, options) => {
      void navigate({
        to: path,
        search: (before: Record<string, unknown>) => next(validate(before)),
        replace: options?.replace ?? false,
        // An entry that is replaced stays the step that it was.
        state: options?.replace
          ? true
          : ({ way }) => ({ isPanelStep: options?.isPanelStep ?? false, way: options?.way ?? way }),
        resetScroll: false,
      });
    },
    [navigate, path, validate],
  );
  return [search, change];
}

/** The view state of a page, a function that changes fields of it, and its panel. */
export type PageSearch<S, Kind extends string> = [
  search: S,
  update: UpdateSearch<S>,
  panel: PagePanel<Kind>,
];

/** The view state that a page keeps in the hash. */
export function usePageSearch<S extends { panel?: string }, Kind extends string>(
  path: PagePath,
  validate: (raw: Record<string, unknown>) => S,
  kinds: readonly Kind[],
): PageSearch<S, Kind> {
  const [search, change] = useHashSearch(path, validate);
  const update = useCallback<UpdateSearch<S>>(
    (fields, options) => change((before) => validate({ ...before, ...fields }), options),
    [change, validate],
  );
  const panel = usePanel(search.panel, kinds, (next, options) =>
    update({ panel: next } as Changes<S>, options),
  );
  return [search, update, panel];
}

/** The panel of a page, and functions that open and close it. */
export type PagePanel<Kind extends string> = {
  /** What is open; undefined when nothing is. */
  readonly place: PanelPlace<Kind> | undefined;
  /** The id of what is open, if it is of this kind. */
  readonly idOf: (kind: Kind) => string | undefined;
  /** Opens a panel. `isInside` means that closing it leads back to the panel that is open now. */
  readonly open: (kind: Kind, id?: string, options?: { isInside?: boolean }) => void;
  /** Shows another in place of this panel, if it is still open. */
  readonly replace: (kind: Kind, id: string) => void;
  /** Closes this panel, if it is still open. */
  readonly close: () => void;
};

/** The panel that the hash names. To open one is a step, which closing goes back by; to go on to another is none. */
export function usePanel<Kind extends string>(
  text: string | undefined,
  kinds: readonly Kind[],
  update: (panel: string | undefined, options: SearchOptions) => void,
): PagePanel<Kind> {
  const place = useMemo(() => parsePanel(text, kinds), [text, kinds]);
  const current = useRef<{ text: string | undefined | null; update: typeof update }>({
    text,
    update,
  });
  current.current = { text, update };
  // An answer that comes late has its own panel to close, and none that was opened since, here or on another page.
  const isOpen = useCallback(() => current.current.text === text, [text]);
  useEffect(
    () => () => {
      current.current.text = null;
    },
    [],
  );
  const open = useCallback<PagePanel<Kind>['open']>((kind, id = '', { isInside = false } = {}) => {
    const next = panelText({ kind, id });
    const { text: shown } = current.current;
    if (next === shown) return;
    const isStep = shown === undefined || isInside;
    current.current.update(next, isStep ? { isPanelStep: true } : { replace: true });
  }, []);
  const replace = useCallback<PagePanel<Kind>['replace']>(
    (kind, id) => {
      if (isOpen()) open(kind, id);
    },
    [isOpen, open],
  );
  const close = useCallback(() => {
    if (!isOpen()) return;
    // The entry of the history tells this also after a reload, and after steps away from it and back.
    const { isPanelStep = false } = window.history.state ?? {};
    if (isPanelStep) window.history.back();
    else current.current.update(undefined, { replace: true });
  }, [isOpen]);
  const idOf = useCallback((kind: Kind) => (place?.kind === kind ? place.id : undefined), [place]);
  return { place, idOf, open, replace, close };
}
