import type { ReactNode } from 'react';
import { Separator, type WidthLimits } from '../../ui/separator.tsx';
import classes from '../page.module.css';

/** The line between the tree and the rest. */
export function TreeSeparator(): ReactNode {
  return (
    <Separator
      className={`separator ${classes.separator}`}
      label="Width of the tree"
      title="Drag to widen the tree; double click for its own width"
      storageKey="svcctl.tree-width"
      variable="--tree-width"
      side="left"
      limits={limits}
    />
  );
}

const narrowPx = 900;
/** What the records keep when a panel stands beside them. */
const restPx = 320;

/** How wide the tree may be, and is by itself: page.module.css has the same. */
function limits({ parentPx, windowPx }: { parentPx: number; windowPx: number }): WidthLimits {
  const halfPx = Math.floor(windowPx / 2);
  if (parentPx < narrowPx) {
    return { minPx: 240, maxPx: Math.max(240, Math.min(halfPx, parentPx - restPx)), ownPx: 272 };
  }
  const ownPx = Math.min(440, Math.max(340, windowPx * 0.29));
  return { minPx: 240, maxPx: halfPx, ownPx };
}
