import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';

type Options = { replace?: boolean };

/** Makes the next view state of the last one. A step for Back, unless replaced. */
export type ChangeSearch<S> = (change: (before: S) => S, options?: Options) => void;

type Changes<S> = { [Key in keyof S]?: S[Key] | undefined };

/** As `ChangeSearch`, by the fields that change; `undefined` takes one out. */
export type UpdateSearch<S> = (change: Changes<S>, options?: Options) => void;

type PagePath = '/records' | '/exports' | '/dlq' | '/deliveries' | '/endpoints' | '/retention';

/** The view state that a page keeps in the hash, and how to make the next one. */
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

/** The view state that a page keeps in the hash, and how to change fields of it. */
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

/** Opening a drawer is a step, so that Back closes it first; closing takes that step back. */
export function useDrawerStep(
  shown: string | undefined,
  update: (next: string | undefined, options: { replace: boolean }) => void,
): { open: (next: string) => void; close: () => void } {
  const isOurStep = useRef(false);
  if (shown === undefined) isOurStep.current = false;
  const current = useRef({ shown, update });
  current.current = { shown, update };
  const open = useCallback((next: string) => {
    // From one to the next is no step of its own.
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
