import { Button, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { describeFailure, isPassing } from '../ui/outage.ts';
import classes from './sign-in.module.css';

/** Asks for an access token and opens a session for it. A refused one says why and stays in its field. */
export function SignInForm({ onSignedIn }: { onSignedIn: (actor: Actor) => void }): ReactNode {
  const [token, setToken] = useState('');
  const signIn = useMutation({
    mutationFn: (text: string) => api.post<Actor>('/session', { token: text }),
    onSuccess: onSignedIn,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== '' && !signIn.isPending) signIn.mutate(token.trim());
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
        autoFocus
        maxLength={200}
        value={token}
        onChange={(event) => {
          setToken(event.currentTarget.value);
          signIn.reset();
        }}
        error={signIn.error === null ? null : signInFailure(signIn.error)}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
      />
      <Button type="submit" variant="filled" fullWidth loading={signIn.isPending}>
        Sign in
      </Button>
    </form>
  );
}

/** Why a sign-in failed, and whether to try the same again. */
export function signInFailure(error: Error & { detail?: string }): string {
  const detail = error.detail ?? error.message;
  return isPassing(error) ? `${describeFailure(error)}: ${detail} Try again in a moment.` : detail;
}
