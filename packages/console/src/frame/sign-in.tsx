import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { signInFailure } from '../ui/outage.ts';
import { Logo } from './navigation.tsx';
import { actorKey } from './session.tsx';
import classes from './sign-in.module.css';
import { SignInForm } from './token-form.tsx';

/**
 * The sign-in page. It signs in by the one-time code of a link, or else by a pasted token, and then goes to the place
 * where the person came from.
 */
export function SignInPage(): ReactNode {
  const { code, from } = useSearch({ from: '/sign-in' });
  const client = useQueryClient();
  const router = useRouter();
  const navigate = useNavigate();
  const enter = (actor: Actor) => {
    client.setQueryData(actorKey, actor);
    if (from === undefined) void navigate({ to: '/', replace: true });
    // The search of this place was written by a page of the console, so it is used as it is.
    else router.history.replace(from);
  };
  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <Logo />
        {code === undefined ? <h1>Sign in</h1> : <LinkSignIn code={code} onSignedIn={enter} />}
        <SignInForm onSignedIn={enter} />
        <p className={classes.hint}>
          The first admin token is in the file <code>admin-token</code> in the service’s data
          folder. Others are made with
          <code className={classes.command}>svcctl tokens create --name NAME --preset PRESET</code>
        </p>
      </div>
    </main>
  );
}

/** Signs in by a code. A code is valid only once; as a query it is sent only once, however often the page is drawn. */
function LinkSignIn(props: { code: string; onSignedIn: (actor: Actor) => void }): ReactNode {
  const { code, onSignedIn } = props;
  const signIn = useQuery({
    queryKey: ['sign-in', code],
    queryFn: () => api.post<Actor>('/session', { code }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnMount: false,
  });
  const { data } = signIn;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each answer
  useEffect(() => {
    if (data !== undefined) onSignedIn(data);
  }, [data]);
  return (
    <>
      <h1>{signIn.isError ? 'Sign in' : 'Signing in …'}</h1>
      {signIn.error !== null && (
        <p role="alert" className={`alarm below-16 ${classes.failure}`}>
          {signInFailure(signIn.error)}
        </p>
      )}
    </>
  );
}
