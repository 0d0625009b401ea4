import { Anchor, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { useSession } from '../ui/session.ts';
import { IdentityWindowButton, useIdentity } from './identity.tsx';
import { SignInForm, TokenForm } from './token-form.tsx';

/** Asks who is there once more, on behalf of a call of any page. */
export function StepUpDialog(props: { onConfirmed: () => void; onClose: () => void }): ReactNode {
  const isPerson = useSession().actor.kind === 'person';
  return (
    <Modal
      opened
      onClose={props.onClose}
      centered
      title={isPerson ? 'Confirm that it is you' : 'Confirm with your access token'}
      // It lies above the dialog of the action itself, which may still be open.
      zIndex={250}
    >
      <p style={{ marginTop: 0 }}>
        This action asks for {isPerson ? 'a new sign-in' : 'the token that you signed in with'}.
        After that it is not asked for again for ten minutes.
      </p>
      {isPerson ? (
        <IdentityWindowButton
          purpose="confirm"
          button="Confirm"
          send={(answer) => api.post<unknown>('/session/confirm', { answer })}
          onSent={props.onConfirmed}
        />
      ) : (
        <TokenForm
          button="Confirm"
          send={(token) => api.post<unknown>('/session/confirm', { token })}
          onSent={props.onConfirmed}
        />
      )}
    </Modal>
  );
}

/** Says that what was asked for waits for somebody else, and where. */
export function KeptDialog({ text, onClose }: { text: string; onClose: () => void }): ReactNode {
  return (
    <Modal opened onClose={onClose} centered title="Somebody else must confirm this" zIndex={250}>
      <p className="break below-16" style={{ marginTop: 0 }}>
        {text}
      </p>
      <p style={{ marginBottom: 0 }}>
        It is done in your name then, if nothing has changed.{' '}
        <Anchor inherit underline="always" href="#/access?view=approvals" onClick={onClose}>
          Look at what waits
        </Anchor>{' '}
        to withdraw it.
      </p>
    </Modal>
  );
}

/** Lies over the page when the session of `actor` has ended, until somebody signs in. */
export function SignInAgain(props: {
  actor: Actor;
  onSignedIn: (actor: Actor) => void;
  onClose: () => void;
}): ReactNode {
  const identity = useIdentity();
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
      <IdentityWindowButton
        purpose="window"
        button="Sign in"
        send={(answer) => api.post<Actor>('/session', { answer })}
        onSent={props.onSignedIn}
      />
      <SignInForm onSignedIn={props.onSignedIn} isSecond={identity !== null} />
    </Modal>
  );
}
