import { ActionIcon, Tooltip } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import drawerClasses from './drawer.module.css';
import { CloseIcon } from './icons.tsx';

/** A drawer over the right side of the page. It is not modal: the list beside it can still be used. */
export function DrawerShell(props: {
  kind: string;
  title: ReactNode;
  /**
   * Identifies what the drawer shows. The heading takes the focus when the drawer opens, but not when it goes on to
   * show something else.
   */
  id: string;
  closeLabel: string;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  const isStep = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first one takes the focus, not each step
  useEffect(() => {
    if (!isStep.current) heading.current?.focus();
    isStep.current = true;
  }, [props.id]);
  const close = useRef(props.onClose);
  close.current = props.onClose;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      // The key press has closed a dialog, which may be removed from the document by now.
      const isOfDialog = event.target instanceof Element && event.target.closest('[role="dialog"]');
      if (isOfDialog || document.querySelector('[role="dialog"][aria-modal="true"]')) return;
      event.preventDefault();
      close.current();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <aside className={drawerClasses.drawer} data-drawer aria-labelledby="drawer-title">
      <div className={drawerClasses.head}>
        <h2 id="drawer-title" ref={heading} tabIndex={-1}>
          <span>{props.kind}</span> {props.title}
        </h2>
        <Tooltip label="Close (Esc)">
          <ActionIcon aria-label={props.closeLabel} onClick={props.onClose}>
            <CloseIcon />
          </ActionIcon>
        </Tooltip>
      </div>
      {props.children}
    </aside>
  );
}
