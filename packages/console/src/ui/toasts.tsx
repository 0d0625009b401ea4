import { ActionIcon, Anchor, Button, Portal } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import classes from './controls.module.css';
import { CloseIcon } from './icons.tsx';

export type Toast = {
  readonly text: string;
  readonly href?: string;
  readonly linkText?: string;
  /** A button: what it says, and what it does before the message closes. */
  readonly action?: { readonly text: string; readonly run: () => void };
};

const toastEvent = 'svcctl:toast';
const shownMillis = 8_000;
const mostShown = 4;

/** Says something at the edge of the page for some seconds, with a link to where it leads. */
export function notify(toast: Toast): void {
  window.dispatchEvent(new CustomEvent(toastEvent, { detail: toast }));
}

/** Shows what `notify` says. Once in the frame. */
export function Toasts(): ReactNode {
  const [toasts, setToasts] = useState<readonly (Toast & { id: number })[]>([]);
  const lastId = useRef(0);
  useEffect(() => {
    const show = (event: Event) => {
      lastId.current += 1;
      const toast = { ...(event as CustomEvent<Toast>).detail, id: lastId.current };
      setToasts((all) => [...all, toast].slice(-mostShown));
    };
    window.addEventListener(toastEvent, show);
    return () => window.removeEventListener(toastEvent, show);
  }, []);
  const close = (id: number) => setToasts((all) => all.filter((toast) => toast.id !== id));
  return (
    <Portal>
      <div className={classes.toasts} role="status" aria-live="polite" aria-label="Messages">
        {toasts.map((toast) => (
          <ToastCard key={toast.id} toast={toast} onClose={() => close(toast.id)} />
        ))}
      </div>
    </Portal>
  );
}

function ToastCard({ toast, onClose }: { toast: Toast; onClose: () => void }): ReactNode {
  const [isHeld, setHeld] = useState(false);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(() => close.current(), shownMillis);
    return () => clearTimeout(timer);
  }, [isHeld]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only keeps it open while it is read
    <div
      className={classes.toast}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span>{toast.text}</span>
      {toast.href !== undefined && (
        <Anchor href={toast.href} size="sm">
          {toast.linkText ?? 'Open'}
        </Anchor>
      )}
      {toast.action !== undefined && (
        <Button
          size="compact-sm"
          onClick={() => {
            toast.action?.run();
            onClose();
          }}
        >
          {toast.action.text}
        </Button>
      )}
      <ActionIcon aria-label="Close message" size={24} onClick={onClose}>
        <CloseIcon />
      </ActionIcon>
    </div>
  );
}
