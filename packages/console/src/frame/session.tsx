import { useWindowEvent } from '@mantine/hooks';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { ApiError, api, sessionEndedEvent } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { includesScope } from '../api/values.ts';
import { FailurePanel, isAside, useFailure } from '../ui/freshness.tsx';
import { useFocusReturn } from '../ui/keys.ts';
import { lazyPart, scriptKey } from '../ui/lazy-part.tsx';
import { signInFailure } from '../ui/outage.ts';
import { type Session, SessionContext } from '../ui/session.ts';
import { notify } from '../ui/toasts.tsx';
import { Logo } from './navigation.tsx';
import { recentsKey } from './recents.ts';
import classes from './sign-in.module.css';

export const SignInAgain = lazyPart('SignInAgain', () => import('./ask-token.tsx'));

/** The query key of who is signed in. */
export const actorKey = ['me'] as const;

/** The query that tells who is signed in. */
export const actorQuery = queryOptions({
  queryKey: actorKey,
  queryFn: ({ signal }) => api.get<Actor>('/me', undefined, signal),
  staleTime: 300_000,
  meta: isAside,
});

/**
 * Shows its children when somebody is signed in. Everybody else is sent to the sign-in page, and comes back to the same
 * place. When a session ends in the middle of work, the sign-in form lies over the page, so that the page is kept.
 */
export function SessionGate({ children }: { children: ReactNode }): ReactNode {
  const me = useQuery(actorQuery);
  const failure = useFailure(me);
  const session = useSessionOf(me.data);
  if (session === null) {
    if (failure === null) return null;
    if (failure instanceof ApiError && failure.status === 401) {
      return <ToSignIn />;
    }
    return (
      <main className={classes.page}>
        <div className={classes.card}>
          <Logo />
          <FailurePanel error={failure} onRetry={() => void me.refetch()} />
        </div>
      </main>
    );
  }
  return (
    <SessionContext value={session}>
      {children}
      <EndedSession actor={session.actor} />
    </SessionContext>
  );
}

/** Goes to the sign-in page by an effect: <Navigate> would go again once the place, and so its `from`, has changed. */
function ToSignIn(): null {
  const router = useRouter();
  useEffect(() => {
    const { href } = router.history.location;
    const search = href === '/' ? {} : { from: href };
    void router.navigate({ to: '/sign-in', search, replace: true });
  }, [router]);
  return null;
}

/** The session of an actor; null while nobody is signed in. */
function useSessionOf(actor: Actor | undefined): Session | null {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMemo(() => {
    if (actor === undefined) return null;
    const end = async (from: string | undefined) => {
      const ended = await api.delete<{ url: string } | undefined>('/session');
      await navigate({ to: '/sign-in', search: from === undefined ? {} : { from } });
      // Removes everything that was read, so that the next person sees nothing of it. Scripts stay: that of the sign-in
      // page may still be under way.
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== scriptKey });
      client.getMutationCache().clear();
      localStorage.removeItem(recentsKey);
      // The identity server would let the next person in under the name of this one.
      if (ended !== undefined) location.assign(ended.url);
    };
    return {
      actor,
      hasScope: (scope) => includesScope(actor.scopes, scope),
      signOut: (from) => end(from).catch((error: Error) => notify({ text: signInFailure(error) })),
    };
  }, [actor, client, navigate]);
}

/** Identifies an actor, regardless of how long its confirmation lasts. */
function identityOf({ confirmed_until: _until, ...who }: Actor): string {
  return JSON.stringify(who);
}

/** Asks for a sign-in over the page when the session has ended. The page itself stays as it is. */
function EndedSession({ actor }: { actor: Actor }): ReactNode {
  const client = useQueryClient();
  const [isEnded, setEnded] = useState(false);
  const rememberFocus = useFocusReturn(isEnded);
  useWindowEvent(sessionEndedEvent, () => {
    rememberFocus();
    setEnded(true);
  });
  const resume = async (next: Actor) => {
    setEnded(false);
    client.setQueryData(actorKey, next);
    const isOther = identityOf(next) !== identityOf(actor);
    // Scripts stay: without theirs, forms would go with all that is typed in them.
    const kept: readonly unknown[] = [actorKey[0], scriptKey];
    const others = {
      predicate: ({ queryKey }: { queryKey: readonly unknown[] }) => !kept.includes(queryKey[0]),
    };
    // Another token may see other data, so everything that the old one read is dropped.
    if (isOther) await client.resetQueries(others);
    else await client.invalidateQueries(others);
  };
  if (!isEnded) return null;
  return <SignInAgain actor={actor} onSignedIn={(next) => void resume(next)} onClose={() => {}} />;
}
