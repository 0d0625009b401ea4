import { ActionIcon, Tooltip } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import {
  createContext,
  Fragment,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useRef,
} from 'react';
import { createPortal } from 'react-dom';
import { CloseIcon } from './icons.tsx';
import classes from './panel.module.css';
import { Separator, type WidthLimits } from './separator.tsx';

/** The element of the frame that holds the panel of the page; null until it is in the document. */
export const PanelSlot = createContext<HTMLElement | null>(null);

type PanelProps = {
  kind: string;
  title: ReactNode;
  /** Identifies what the panel shows: of something else its content begins anew, but the focus stays. */
  id: string;
  closeLabel: string;
  onClose: () => void;
  children: ReactNode;
};

/** A panel beside the page, which can still be used. It lies over a narrow page, and on a phone covers all of it. */
export function Panel(props: PanelProps): ReactNode {
  const slot = useContext(PanelSlot);
  return slot === null ? null : createPortal(<Shell {...props} />, slot);
}

function Shell(props: PanelProps): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useFocusWithin(heading);
  useWindowEvent('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    // The key press has closed a dialog, which may be removed from the document by now.
    const isOfDialog = event.target instanceof Element && event.target.closest('[role="dialog"]');
    if (isOfDialog || document.querySelector('[role="dialog"][aria-modal="true"]')) return;
    event.preventDefault();
    props.onClose();
  });
  return (
    <aside className={`stack relative ${classes.panel}`} data-drawer aria-labelledby="panel-title">
      <Separator
        className={`separator ${classes.separator}`}
        label="Width of the panel"
        title="Drag to widen the panel; double click for its own width"
        storageKey="svcctl.panel-width"
        variable="--panel-width"
        side="right"
        limits={limits}
      />
      <div className={`row between gap-8 flex-none ${classes.head}`}>
        <h2 id="panel-title" ref={heading} tabIndex={-1}>
          <span>{props.kind}</span> {props.title}
        </h2>
        <Tooltip label={`${props.closeLabel} (Esc)`}>
          <ActionIcon aria-label={props.closeLabel} onClick={props.onClose}>
            <CloseIcon />
          </ActionIcon>
        </Tooltip>
      </div>
      <Fragment key={props.id}>{props.children}</Fragment>
    </aside>
  );
}

/** What a panel shows, which scrolls. With a name it is reached by key, too. */
export function PanelBody({ label, children }: { label?: string; children: ReactNode }): ReactNode {
  if (label === undefined) return <div className={`scroll ${classes.body}`}>{children}</div>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by key
    <section className={`scroll ${classes.body}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** How wide the panel may be, and is by itself. The style sheet has the same. */
function limits({ windowPx }: { windowPx: number }): WidthLimits {
  return {
    minPx: 360,
    maxPx: Math.floor(windowPx / 2),
    ownPx: Math.min(560, Math.max(400, windowPx * 0.33)),
  };
}

/** Moves the focus to the heading, and back when the panel closes with it, unless a row had it: its table does that. */
function useFocusWithin(heading: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const before = document.activeElement;
    const panel = heading.current?.closest('aside');
    heading.current?.focus();
    return () => {
      const focused = document.activeElement;
      const isOurs = focused === null || focused === document.body || panel?.contains(focused);
      if (!isOurs || !(before instanceof HTMLElement) || !before.isConnected) return;
      if (before.closest('[data-key]') === null) before.focus();
    };
  }, [heading]);
}
