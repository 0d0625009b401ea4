import { Button, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { signInFailure } from '../ui/outage.ts';

/** Asks for an access token and opens a session for it. */
export function SignInForm(props: {
  onSignedIn: (actor: Actor) => void;
  /** There is another way, which stands above. */
  isSecond: boolean;
}): ReactNode {
  const { onSignedIn, isSecond } = props;
  return (
    <TokenForm
      button={isSecond ? 'Sign in with a token' : 'Sign in'}
      isFirst={!isSecond}
      isPlain={isSecond}
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
  /** Another button is the one that most people press. */
  isPlain?: boolean;
  send: (token: string) => Promise<Answer>;
  onSent: (answer: Answer) => void;
}): ReactNode {
  const { button, isFirst = false, isPlain = false } = props;
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
        {...(!isPlain && { 'data-autofocus': true })}
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
      <Button
        type="submit"
        {...(!isPlain && { variant: 'filled' })}
        fullWidth
        loading={sending.isPending}
      >
        {button}
      </Button>
    </form>
  );
}
