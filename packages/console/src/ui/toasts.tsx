import { Anchor, Button, Portal } from '@mantine/core';
import { randomId } from '@mantine/hooks';
import {
  type NotificationData,
  notifications,
  notificationsStore,
  useNotifications,
} from '@mantine/notifications';
import { type ReactNode, useEffect } from 'react';
import classes from './controls.module.css';
import { lazyPiece } from './lazy-part.tsx';

/** A message. `href` is a place of the console, and `linkText` the words that lead there. */
export type Toast = {
  readonly text: string;
  readonly href?: string;
  readonly linkText?: string;
  /** A button: its text, and what it does before the message closes. */
  readonly action?: { readonly text: string; readonly run: () => void };
};

export const ToastList = lazyPiece('ToastList', () => import('./toast-list.tsx'));

const shownMillis = 8_000;
const mostShown = 4;

/** Shows a message at the edge of the page for some seconds, with a link to the place that it is about. */
export function notify(toast: Toast): void {
  const id = randomId();
  const [oldest, ...others] = notificationsStore.getState().notifications;
  // The newest message is shown at once, because somebody waits for it; the library would queue it behind the others.
  if (oldest?.id !== undefined && others.length + 1 >= mostShown) notifications.hide(oldest.id);
  const shown: NotificationData = {
    id,
    autoClose: shownMillis,
    message: <ToastText toast={toast} onDone={() => notifications.hide(id)} />,
    // The region around all messages announces them to screen readers.
    role: 'presentation',
    classNames: {
      root: classes.toast,
      body: classes.toastBody,
      description: 'row gap-12 ink break',
    },
    closeButtonProps: { 'aria-label': 'Close message' },
    // A message under the mouse stays by itself. This keeps it for people who use keys, too.
    onFocus: () => notifications.update({ ...shown, autoClose: false }),
    onBlur: () => notifications.update(shown),
  };
  notifications.show(shown);
}

/** Shows the messages of `notify`. The frame contains it once. */
export function Toasts(): ReactNode {
  const count = useNotifications(notificationsStore).notifications.length;
  // The library keeps its messages for as long as the page lives. Whoever signs in next must not see those of before.
  useEffect(() => {
    notifications.clean();
    return () => notifications.clean();
  }, []);
  return (
    <Portal>
      <div role="status" aria-live="polite" aria-label="Messages">
        {count > 0 && <ToastList mostShown={mostShown} />}
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
