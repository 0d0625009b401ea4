import { memo, type ReactNode } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { formatBytes, formatCount, visibleText } from '../../ui/format.ts';
import { CutText } from '../../ui/marks.tsx';
import { CoverageBar } from '../coverage.tsx';
import type { VisibleNode } from './flat-tree.ts';
import classes from './tree.module.css';

type TreeRowProps = {
  node: VisibleNode;
  /** Distance from the top of the list, in pixels. */
  top: number;
  isActive: boolean;
  isChosen: boolean;
};

/** One row of the tree, drawn again only when its own node changes. The list handles its clicks, by `data-…`. */
export const TreeRow = memo(function TreeRow(props: TreeRowProps): ReactNode {
  const { node, top } = props;
  const style = { transform: `translateY(${top}px)` };
  if (node.type === 'tail') return <TailRow node={node} style={style} />;
  const { row, key, name, level, isOpen } = node;
  const isLeaf = level === 3;
  return (
    <div
      id={nodeId(key)}
      role="treeitem"
      data-key={key}
      data-level={level}
      className={`hover ${classes.row}`}
      style={style}
      tabIndex={props.isActive ? 0 : -1}
      aria-level={level}
      aria-posinset={node.position}
      aria-setsize={node.siblings}
      aria-selected={props.isChosen}
      aria-expanded={isLeaf ? undefined : isOpen}
      aria-busy={row === null ? true : undefined}
    >
      <span className={`row shrink ${classes.name}`} title={visibleText(name)}>
        {isLeaf ? (
          <span className={classes.twig} />
        ) : (
          <span className={`muted ${classes.toggle}`} data-toggle data-open={isOpen}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M6 4l4 4-4 4" />
            </svg>
          </span>
        )}
        <span className={`cut ${classes.text}`} dir="auto">
          <CutText text={name} />
        </span>
        {isLeaf && row !== null && row.tier !== 'hot' && <LeafTier tier={row.tier} />}
      </span>
      {row !== null ? (
        <Figures row={row} />
      ) : node.isFailed ? (
        <Retry branch={node.parent} />
      ) : (
        <Bones />
      )}
    </div>
  );
}, isSameRow);

function Figures({ row }: { row: DatasetRow }): ReactNode {
  return (
    <>
      <span className="cut right">
        {formatCount(row.count)}
        <span className="visually-hidden"> {row.count === 1 ? 'record' : 'records'}</span>
      </span>
      <span className="cut right muted">{formatBytes(row.bytes)}</span>
      <CoverageBar of={row} />
    </>
  );
}

/** Whether a row would be drawn the same again: the cache keeps the rows that did not change as they are. */
function isSameRow(before: TreeRowProps, after: TreeRowProps): boolean {
  if (before.top !== after.top) return false;
  if (before.isActive !== after.isActive || before.isChosen !== after.isChosen) return false;
  const a = before.node;
  const b = after.node;
  if (a.type !== 'row' || b.type !== 'row') return a.key === b.key;
  return (
    a.row === b.row &&
    a.isFailed === b.isFailed &&
    a.isOpen === b.isOpen &&
    a.position === b.position &&
    a.siblings === b.siblings
  );
}

/** The tier of a leaf. Hot is not shown, because every leaf begins so. */
function LeafTier({ tier }: { tier: 'cold' | 'mixed' }): ReactNode {
  return (
    <span className={`tier inline-row muted shrink clip ${classes.tier}`} data-tier={tier}>
      <span>{tier}</span>
    </span>
  );
}

/** The line at the end of a branch that is not complete: it loads, or has failed and can be tried again. */
function TailRow(props: {
  node: Extract<VisibleNode, { type: 'tail' }>;
  style: { transform: string };
}): ReactNode {
  const { node, style } = props;
  return (
    <div
      className={`hover ${classes.row}`}
      data-level={node.level}
      style={style}
      role="presentation"
    >
      {node.tail === 'failed' ? (
        <>
          <span className={`nowrap ${classes.failed}`}>could not be read</span>
          <Retry branch={node.parent} />
        </>
      ) : (
        <SkeletonCells />
      )}
    </div>
  );
}

function Retry({ branch }: { branch: string }): ReactNode {
  return (
    <button
      type="button"
      className={`bold ${classes.retry}`}
      title="It could not be read"
      tabIndex={-1}
      data-retry={branch}
    >
      RETRY
    </button>
  );
}

/** Placeholders for the cells of a row that is loading, of their final size. */
export function SkeletonCells(): ReactNode {
  return (
    <>
      <span className={`row shrink ${classes.name}`}>
        <span className={classes.twig} />
        <span className={`bone ${classes.wideBone}`} />
      </span>
      <Bones />
    </>
  );
}

/** Placeholders for the figures of a row. */
function Bones(): ReactNode {
  return (
    <>
      <span className="bone" />
      <span className="bone" />
      <span className="bone" />
    </>
  );
}

/** The id of a row in the document, by the key of its node. */
function nodeId(key: string): string {
  return `node-${encodeURIComponent(key)}`;
}
