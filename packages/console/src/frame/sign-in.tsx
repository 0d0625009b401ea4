import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { signInFailure } from '../ui/outage.ts';
import { handOver, IdentityButton, takePlace, useIdentity } from './identity.tsx';
import { Logo } from './navigation.tsx';
import { actorKey } from './session.tsx';
import classes from './sign-in.module.css';
import { SignInForm } from './token-form.tsx';

/** The sign-in page: by the code of a link, by the identity server, or by a pasted token, then on to where one was. */
export function SignInPage(): ReactNode {
  const { code, answer, from } = useSearch({ from: '/sign-in' });
  const [isHandedOver] = useState(() => answer !== undefined && handOver(answer));
  return isHandedOver ? <HandedOver /> : <SignIn given={givenOf(code, answer)} from={from} />;
}

type Given = { code: string } | { answer: string } | null;

function givenOf(code: string | undefined, answer: string | undefined): Given {
  if (answer !== undefined) return { answer };
  return code === undefined ? null : { code };
}

/** In a window that another page has opened, and that this browser does not let close itself. */
function HandedOver(): ReactNode {
  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <Logo />
        <h1>Done</h1>
        <p>You can close this window: the page that has opened it goes on.</p>
      </div>
    </main>
  );
}

function SignIn({ given, from }: { given: Given; from: string | undefined }): ReactNode {
  const identity = useIdentity();
  const client = useQueryClient();
  const router = useRouter();
  const navigate = useNavigate();
  const enter = (actor: Actor) => {
    client.setQueryData(actorKey, actor);
    const place = from ?? takePlace();
    if (place === undefined) void navigate({ to: '/', replace: true });
    // The search of this place was written by a page of the console, so it is used as it is.
    else router.history.replace(place);
  };
  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <Logo />
        {given === null ? <h1>Sign in</h1> : <GivenSignIn given={given} onSignedIn={enter} />}
        <IdentityButton from={from} />
        <SignInForm onSignedIn={enter} isSecond={identity !== null} />
        <p className={`muted line-over ${classes.hint}`}>
          The first admin token is in the file <code>admin-token</code> in the service’s data
          folder. Others are made with
          <code className={`break ${classes.command}`}>
            svcctl tokens create --name NAME --preset PRESET
          </code>
        </p>
      </div>
    </main>
  );
}

/** Signs in by what the address brought. It is valid once; as a query it is sent once, however often it is drawn. */
function GivenSignIn(props: {
  given: NonNullable<Given>;
  onSignedIn: (actor: Actor) => void;
}): ReactNode {
  const { given, onSignedIn } = props;
  const signIn = useQuery({
    queryKey: ['sign-in', given],
    queryFn: () => api.post<Actor>('/session', given),
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
