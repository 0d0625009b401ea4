import { Notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import classes from './controls.module.css';

/** The messages of `notify`, the newest of them at once, because somebody waits for it. */
export function ToastList({ mostShown }: { mostShown: number }): ReactNode {
  return (
    <Notifications
      withinPortal={false}
      className={classes.toasts}
      zIndex={400}
      containerWidth="auto"
      limit={mostShown}
      pauseResetOnHover="notification"
      // A message is shown whole, and its text can be selected with the mouse.
      notificationMaxHeight="none"
      allowDragDismiss={false}
      allowScrollDismiss={false}
    />
  );
}
