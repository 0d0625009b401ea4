import { Button, type ButtonProps } from '@mantine/core';
import type { ComponentPropsWithoutRef, ReactNode } from 'react';
import { useIsStale } from './freshness.tsx';

/**
 * A button that does something to what the page shows. While that cannot be read again it does nothing, but takes the
 * focus, so that one can learn why.
 */
export function LiveButton(
  props: ButtonProps & Omit<ComponentPropsWithoutRef<'button'>, keyof ButtonProps>,
): ReactNode {
  if (!useIsStale()) return <Button {...props} />;
  const none = { 'aria-disabled': true, 'data-disabled': true, onClick: undefined };
  return <Button {...props} {...none} title="Not before the page is up to date again" />;
}
