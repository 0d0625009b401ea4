import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';

type Changes<S> = { [Key in keyof S]?: S[Key] | undefined };

/** Changes fields of the view state; `undefined` takes one out. A step for Back, unless replaced. */
export type UpdateSearch<S> = (change: Changes<S>, options?: { replace?: boolean }) => void;

/** The view state that a page keeps in the hash, and how to change it. */
export function usePageSearch<S extends object>(
  path: '/exports' | '/dlq' | '/deliveries' | '/endpoints' | '/retention',
  validate: (raw: Record<string, unknown>) => S,
): [S, UpdateSearch<S>] {
  const raw: Record<string, unknown> = useSearch({ strict: false });
  const text = JSON.stringify(raw);
  const search = useMemo(
    () => validate(JSON.parse(text) as Record<string, unknown>),
    [text, validate],
  );
  const navigate = useNavigate();
  const update = useCallback<UpdateSearch<S>>(
    (change, options) => {
      void navigate({
        to: path,
        search: (before: Record<string, unknown>) => validate({ ...before, ...change }),
        replace: options?.replace ?? false,
        resetScroll: false,
      });
    },
    [navigate, path, validate],
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
