import { Button, Modal, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { api, type StepUpRequest, stepUpEvent } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { describeFailure, isPassing } from '../ui/outage.ts';
import classes from './sign-in.module.css';

/** Asks for an access token and opens a session for it. */
export function SignInForm({ onSignedIn }: { onSignedIn: (actor: Actor) => void }): ReactNode {
  return (
    <TokenForm
      button="Sign in"
      isFirst
      send={(token) => api.post<Actor>('/session', { token })}
      onSent={onSignedIn}
    />
  );
}

/** A sentence about why a sign-in failed, and whether to try the same again. */
export function signInFailure(error: Error & { detail?: string }): string {
  const detail = error.detail ?? error.message;
  return isPassing(error) ? `${describeFailure(error)}: ${detail} Try again in a moment.` : detail;
}

/**
 * Asks for the access token once more when a call of any page needs it, and then lets the call go on. The frame
 * contains it once. Calls that need it at the same time share one question.
 */
export function StepUp(): ReactNode {
  const [requests, setRequests] = useState<readonly StepUpRequest[]>([]);
  useEffect(() => {
    const take = (event: Event) => {
      event.preventDefault();
      const request = (event as CustomEvent<StepUpRequest>).detail;
      setRequests((all) => [...all, request]);
    };
    window.addEventListener(stepUpEvent, take);
    return () => window.removeEventListener(stepUpEvent, take);
  }, []);
  const settle = (isConfirmed: boolean) => {
    for (const request of requests) request.settle(isConfirmed);
    setRequests([]);
  };
  return (
    <Modal
      opened={requests.length > 0}
      onClose={() => settle(false)}
      lockScroll={false}
      centered
      title="Confirm with your access token"
      // It lies above the dialog of the action itself, which may still be open.
      zIndex={250}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <p style={{ marginTop: 0 }}>
        This action asks for the token that you signed in with. After that it is not asked for again
        for ten minutes.
      </p>
      <TokenForm
        button="Confirm"
        send={(token) => api.post<unknown>('/session/confirm', { token })}
        onSent={() => settle(true)}
      />
    </Modal>
  );
}

/** A field for an access token. A token that was refused stays in it, with the reason. */
function TokenForm<Answer>(props: {
  button: string;
  /** The field takes the focus by itself. Outside of a dialog nothing else would give it. */
  isFirst?: boolean;
  send: (token: string) => Promise<Answer>;
  onSent: (answer: Answer) => void;
}): ReactNode {
  const { button, isFirst = false } = props;
  const [token, setToken] = useState('');
  const sending = useMutation({ mutationFn: props.send, onSuccess: props.onSent });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== '' && !sending.isPending) sending.mutate(token.trim());
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <PasswordInput
        label="Access token"
        placeholder="svc_…"
        name="token"
        autoComplete="current-password"
        spellCheck={false}
        data-autofocus
        autoFocus={isFirst}
        maxLength={200}
        value={token}
        onChange={(event) => {
          setToken(event.currentTarget.value);
          sending.reset();
        }}
        error={sending.error === null ? null : signInFailure(sending.error)}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
      />
      <Button type="submit" variant="filled" fullWidth loading={sending.isPending}>
        {button}
      </Button>
    </form>
  );
}
