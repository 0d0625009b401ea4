import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';

type Options = { replace?: boolean };

/**
 * Changes the view state by a function of the previous one. The change is a new step for Back, unless it replaces the
 * previous step.
 */
export type ChangeSearch<S> = (change: (before: S) => S, options?: Options) => void;

type Changes<S> = { [Key in keyof S]?: S[Key] | undefined };

/** Changes the view state by the fields that change; `undefined` removes a field. */
export type UpdateSearch<S> = (change: Changes<S>, options?: Options) => void;

type PagePath = '/records' | '/exports' | '/dlq' | '/deliveries' | '/endpoints' | '/retention';

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
        resetScroll: false,
      });
    },
    [navigate, path, validate],
  );
  return [search, change];
}

/** The view state that a page keeps in the hash, and a function that changes fields of it. */
export function usePageSearch<S extends object>(
  path: PagePath,
  validate: (raw: Record<string, unknown>) => S,
): [S, UpdateSearch<S>] {
  const [search, change] = useHashSearch(path, validate);
  const update = useCallback<UpdateSearch<S>>(
    (fields, options) => change((before) => validate({ ...before, ...fields }), options),
    [change, validate],
  );
  return [search, update];
}

/**
 * Opens and closes a drawer. Opening is a step, so that Back closes the drawer first; closing goes back by that step.
 */
export function useDrawerStep(
  shown: string | undefined,
  update: (next: string | undefined, options: { replace: boolean }) => void,
): { open: (next: string) => void; close: () => void } {
  const isOurStep = useRef(false);
  if (shown === undefined) isOurStep.current = false;
  const current = useRef({ shown, update });
  current.current = { shown, update };
  const open = useCallback((next: string) => {
    // Going from one drawer to the next is no new step.
    const replace = current.current.shown !== undefined;
    if (!replace) isOurStep.current = true;
    current.current.update(next, { replace });
  }, []);
  const close = useCallback(() => {
    if (isOurStep.current) window.history.back();
    else current.current.update(undefined, { replace: true });
  }, []);
  return { open, close };
}
