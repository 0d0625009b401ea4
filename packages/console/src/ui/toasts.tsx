import { Anchor, Button, Portal } from '@mantine/core';
import { randomId } from '@mantine/hooks';
import {
  type NotificationData,
  Notifications,
  notifications,
  notificationsStore,
} from '@mantine/notifications';
import type { ReactNode } from 'react';
import classes from './controls.module.css';

export type Toast = {
  readonly text: string;
  readonly href?: string;
  readonly linkText?: string;
  /** A button: what it says, and what it does before the message closes. */
  readonly action?: { readonly text: string; readonly run: () => void };
};

const shownMillis = 8_000;
const mostShown = 4;

/** Says something at the edge of the page for some seconds, with a link to where it leads. */
export function notify(toast: Toast): void {
  const id = randomId();
  const [oldest, ...others] = notificationsStore.getState().notifications;
  // The newest is what one waits for; the library would have it wait for its turn.
  if (oldest?.id !== undefined && others.length + 1 >= mostShown) notifications.hide(oldest.id);
  const shown: NotificationData = {
    id,
    autoClose: shownMillis,
    message: <ToastText toast={toast} onDone={() => notifications.hide(id)} />,
    // The region around all of them speaks.
    role: 'presentation',
    classNames: { root: classes.toast, body: classes.toastBody, description: classes.toastText },
    closeButtonProps: { 'aria-label': 'Close message' },
    // Under the mouse it stays by itself; so it does for who comes by key.
    onFocus: () => notifications.update({ ...shown, autoClose: false }),
    onBlur: () => notifications.update(shown),
  };
  notifications.show(shown);
}

/** Shows what `notify` says. Once in the frame. */
export function Toasts(): ReactNode {
  return (
    <Portal>
      <div role="status" aria-live="polite" aria-label="Messages">
        <Notifications
          withinPortal={false}
          className={classes.toasts}
          zIndex={400}
          containerWidth="auto"
          limit={mostShown}
          pauseResetOnHover="notification"
        />
      </div>
    </Portal>
  );
}

function ToastText({ toast, onDone }: { toast: Toast; onDone: () => void }): ReactNode {
  const { text, href, linkText, action } = toast;
  return (
    <>
      <span>{text}</span>
      {href !== undefined && (
        <Anchor href={href} size="sm">
          {linkText ?? 'Open'}
        </Anchor>
      )}
      {action !== undefined && (
        <Button
          size="compact-sm"
          onClick={() => {
            action.run();
            onDone();
          }}
        >
          {action.text}
        </Button>
      )}
    </>
  );
}
