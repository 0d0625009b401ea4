import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Actor } from '../api/types.ts';
import { SignInForm } from './token-form.tsx';

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
      lockScroll={false}
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
