import { Button, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { signInFailure } from '../ui/outage.ts';

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

/** A field for an access token. A token that was refused stays in it, with the reason. */
export function TokenForm<Answer>(props: {
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
    <form onSubmit={submit} className="stack gap-16">
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
