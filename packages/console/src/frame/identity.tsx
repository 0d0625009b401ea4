import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { api } from '../api/client.ts';
import type { SignInPurpose } from '../api/values.ts';
import { signInFailure } from '../ui/outage.ts';

/** The pages of this console tell one another by it what a window brought back from the identity server. */
const channelName = 'svcctl.identity';
/** Under this key a tab keeps the place to go to after it has been at the identity server. */
const placeKey = 'svcctl.sign-in.from';

/** Sends this page to the identity server; it comes back to the sign-in page, and then to `from`. */
export function IdentityButton({ from }: { from?: string | undefined }): ReactNode {
  const identity = useIdentity();
  const button = useRef<HTMLButtonElement>(null);
  // The field for a token had the focus while nobody knew of the identity server; what is typed there goes on.
  useEffect(() => {
    const at = document.activeElement;
    if (identity === null) return;
    if (!(at instanceof HTMLInputElement && at.value !== '')) button.current?.focus();
  }, [identity]);
  const going = useMutation({
    mutationFn: async () => {
      if (from === undefined) sessionStorage.removeItem(placeKey);
      else sessionStorage.setItem(placeKey, from);
      location.assign(await begin('page'));
      // The page goes on looking busy until it is another.
      return new Promise(() => {});
    },
  });
  if (identity === null) return null;
  return (
    <Choice error={going.error}>
      <Button
        ref={button}
        variant="filled"
        fullWidth
        loading={going.isPending}
        onClick={() => going.mutate()}
      >
        Sign in with {identity.name}
      </Button>
    </Choice>
  );
}

/** Asks the identity server in a window beside the page, which stays as it is, and takes its answer by `send`. */
export function IdentityWindowButton<Answer>(props: {
  purpose: 'window' | 'confirm';
  button: string;
  send: (answer: string) => Promise<Answer>;
  onSent: (answer: Answer) => void;
}): ReactNode {
  const { purpose, send, onSent } = props;
  const identity = useIdentity();
  const [isBlocked, setBlocked] = useState(false);
  const sending = useMutation({ mutationFn: send, onSuccess: onSent });
  const opening = useMutation({
    mutationFn: async (opened: Window) => {
      const url = await begin(purpose).catch((error: Error) => {
        opened.close();
        throw error;
      });
      opened.location.assign(url);
    },
  });
  const { mutate } = sending;
  useEffect(() => {
    const channel = new BroadcastChannel(channelName);
    channel.onmessage = ({ data }) => {
      if (typeof data === 'string' && purposeOf(data) === purpose) mutate(data);
    };
    return () => channel.close();
  }, [mutate, purpose]);
  const open = () => {
    // Browsers allow it at once after a press alone, and not after an answer.
    const opened = window.open('', '', 'popup,width=520,height=680');
    setBlocked(opened === null);
    sending.reset();
    if (opened !== null) opening.mutate(opened);
  };
  if (identity === null) return null;
  return (
    <Choice error={sending.error ?? opening.error}>
      <Button
        variant="filled"
        fullWidth
        data-autofocus
        loading={sending.isPending || opening.isPending}
        onClick={open}
      >
        {props.button} with {identity.name}
      </Button>
      {isBlocked && <p role="alert">Your browser opened no window. Allow this page to.</p>}
    </Choice>
  );
}

function Choice({ error, children }: { error: Error | null; children: ReactNode }): ReactNode {
  return (
    <div className="stack gap-8 above-8 below-16">
      {error !== null && (
        <p role="alert" className="alarm" style={{ margin: 0, padding: '8px 12px' }}>
          {signInFailure(error)}
        </p>
      )}
      {children}
    </div>
  );
}

/** In the window: hands an answer to the page that has opened it. Returns whether there is such a page. */
export function handOver(answer: string): boolean {
  if (purposeOf(answer) === 'page') return false;
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(answer);
  channel.close();
  window.close();
  return true;
}

/** The place to go to after this tab has been at the identity server. */
export function takePlace(): string | undefined {
  const place = sessionStorage.getItem(placeKey) ?? undefined;
  sessionStorage.removeItem(placeKey);
  return place;
}

/** What an answer was asked for stands at the end of its state; the service proves it. */
function purposeOf(answer: string): SignInPurpose {
  const state = new URLSearchParams(answer).get('state');
  const [, purpose] = /\.(window|confirm)$/.exec(state ?? '') ?? [];
  return purpose === 'window' || purpose === 'confirm' ? purpose : 'page';
}

async function begin(purpose: SignInPurpose): Promise<string> {
  return (await api.post<{ url: string }>('/session/identity', { purpose })).url;
}

/** The identity server; null while it is not known, and where there is none. */
export function useIdentity(): { name: string } | null {
  const ways = useQuery({
    queryKey: ['sign-ins'],
    queryFn: ({ signal }) =>
      api.get<{ identity: { name: string } | null }>('/session/ways', undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return ways.data?.identity ?? null;
}
