import { ActionIcon } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { MenuIcon } from '../ui/icons.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useFocusReturn } from '../ui/use-focus-return.ts';
import classes from './navigation.module.css';

export const Menu = lazyPart('frame/menu', async () => (await import('./menu.tsx')).Menu);

/** The button that opens the pages and tools over a narrow page. It closes when another page is opened. */
export function MenuButton(): ReactNode {
  const [isOpen, { open, close }] = useDisclosure();
  const rememberFocus = useFocusReturn(isOpen);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the page is another one
  useEffect(close, [path]);
  return (
    <>
      <ActionIcon
        className={classes.menuButton}
        size={40}
        aria-label="Menu"
        onClick={() => {
          rememberFocus();
          open();
        }}
      >
        <MenuIcon />
      </ActionIcon>
      {isOpen && <Menu onClose={close} />}
    </>
  );
}
