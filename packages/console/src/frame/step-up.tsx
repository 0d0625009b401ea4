import { Button, Modal, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { api, type StepUpRequest, stepUpEvent } from '../api/client.ts';
import classes from './sign-in.module.css';
import { signInFailure } from './sign-in-form.tsx';

/**
 * Asks for the access token once more when a call of any page needs it, and lets the call go on. Once in
 * the frame. Calls that ask at the same time share one question.
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
      // Above the question of the action itself, which may be open still.
      zIndex={250}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <p style={{ marginTop: 0 }}>
        This action asks for the token that you signed in with. After that it is not asked for again
        for ten minutes.
      </p>
      <TokenForm onConfirmed={() => settle(true)} />
    </Modal>
  );
}

function TokenForm({ onConfirmed }: { onConfirmed: () => void }): ReactNode {
  const [token, setToken] = useState('');
  const confirm = useMutation({
    mutationFn: (text: string) => api.post<unknown>('/session/confirm', { token: text }),
    onSuccess: onConfirmed,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== '' && !confirm.isPending) confirm.mutate(token.trim());
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
        maxLength={200}
        value={token}
        onChange={(event) => {
          setToken(event.currentTarget.value);
          confirm.reset();
        }}
        error={confirm.error === null ? null : signInFailure(confirm.error)}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
      />
      <Button type="submit" variant="filled" fullWidth loading={confirm.isPending}>
        Confirm
      </Button>
    </form>
  );
}
