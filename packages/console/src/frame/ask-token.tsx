import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { SignInForm, TokenForm } from './token-form.tsx';

/** Asks for the access token once more, on behalf of a call of any page. */
export function StepUpDialog(props: { onConfirmed: () => void; onClose: () => void }): ReactNode {
  return (
    <Modal
      opened
      onClose={props.onClose}
      centered
      title="Confirm with your access token"
      // It lies above the dialog of the action itself, which may still be open.
      zIndex={250}
    >
      <p style={{ marginTop: 0 }}>
        This action asks for the token that you signed in with. After that it is not asked for again
        for ten minutes.
      </p>
      <TokenForm
        button="Confirm"
        send={(token) => api.post<unknown>('/session/confirm', { token })}
        onSent={props.onConfirmed}
      />
    </Modal>
  );
}

/** Lies over the page when the session of `actor` has ended, until somebody signs in. */
export function SignInAgain(props: {
  actor: Actor;
  onSignedIn: (actor: Actor) => void;
  onClose: () => void;
}): ReactNode {
  return (
    <Modal
      opened
      onClose={props.onClose}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      centered
      title="Your session has ended"
    >
      <p style={{ marginTop: 0 }}>
        You were signed in as <strong>{props.actor.name}</strong>. Sign in to go on: the page stays
        as it is.
      </p>
      <SignInForm onSignedIn={props.onSignedIn} />
    </Modal>
  );
}
