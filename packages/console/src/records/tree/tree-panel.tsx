import { ActionIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import { TextFilter } from '../../ui/filters.tsx';
import { formatBytes, formatCount, formatShare } from '../../ui/format.ts';
import { FailurePanel } from '../../ui/freshness.tsx';
import { CloseIcon } from '../../ui/icons.tsx';
import { lazyPiece } from '../../ui/lazy-part.tsx';
import { Separator, type WidthLimits } from '../../ui/separator.tsx';
import pageClasses from '../page.module.css';
import type { TreeSort } from '../search.ts';
import { totalsOf } from './branch-pages.ts';
import classes from './tree.module.css';
import { TreeList, type TreeListProps } from './tree-list.tsx';
import { SkeletonCells } from './tree-row.tsx';
import type { Tree } from './use-tree.ts';

const StoresFound = lazyPiece('StoresFound', () => import('./stores-found.tsx'));

type TreePanelProps = TreeListProps & {
  q: string;
  sort: TreeSort | undefined;
  onSort: (sort: TreeSort | undefined) => void;
  onSearch: (q: string) => void;
  /** Goes back to the chosen node, where a narrow screen has only the tree; undefined while none is chosen. */
  onClose?: () => void;
};

/** The panel with the search field, the tree, and the totals. */
export function TreePanel(props: TreePanelProps): ReactNode {
  const { tree, q, onSearch, onClose } = props;
  return (
    <section className={`stack ${classes.panel}`} aria-label="Where the records are">
      <div className={`row ${classes.top}`}>
        <TreeSearch q={q} onSearch={onSearch} />
        {onClose !== undefined && (
          <ActionIcon
            className={classes.close}
            size={40}
            aria-label="Back to the chosen records"
            onClick={onClose}
          >
            <CloseIcon />
          </ActionIcon>
        )}
      </div>
      <TreeHeads {...props} />
      <TreeBody {...props} />
      <TreeTotals tree={tree} isSearch={q !== ''} />
    </section>
  );
}

/** The names of the columns, of which three sort the tree. */
function TreeHeads({ sort, onSort }: TreePanelProps): ReactNode {
  const head = (by: TreeSort | undefined, className: string | undefined, text: ReactNode) => (
    <button
      type="button"
      className={className}
      aria-pressed={by === sort}
      title={by && 'Largest first. Lists that are not loaded whole stay by name'}
      onClick={() => onSort(by)}
    >
      {text}
    </button>
  );
  return (
    <div className={`caps line-under clip ${classes.heads}`}>
      {head(
        undefined,
        classes.name,
        <>
          TENANT › STORE<span className={classes.wide}> › MONTH</span>
        </>,
      )}
      {head('count', 'cut right', 'RECORDS')}
      {head('bytes', 'cut right', 'BYTES')}
      <span className="cut right">COVERED</span>
    </div>
  );
}

function TreeBody(props: TreePanelProps): ReactNode {
  const { tree, q } = props;
  const { rows, tail } = tree.flat.branch;
  const root = tree.queries[0];
  if (rows.length > 0) return <TreeList {...props} />;
  if (tail === 'failed' && root?.error) {
    return (
      <div className={`grow muted ${classes.empty}`}>
        <FailurePanel error={root.error} onRetry={() => tree.retry('')} />
      </div>
    );
  }
  if (tail === 'loading') return <TreeSkeleton />;
  return (
    <div className={`grow muted ${classes.empty}`}>
      <p>
        {q === ''
          ? 'No records yet.'
          : `No ${q.includes('/') ? 'tenant' : 'tenant begins with'} “${q}”.`}
      </p>
      {q !== '' && !q.includes('/') && <StoresFound q={q.trim()} />}
    </div>
  );
}

function TreeSkeleton(): ReactNode {
  return (
    <div className={classes.scroller} aria-busy="true">
      {Array.from({ length: 12 }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <div key={index} className={classes.bones}>
          <SkeletonCells />
        </div>
      ))}
    </div>
  );
}

/** The totals of all tenants that are loaded; a + says that there are more. */
function TreeTotals({ tree, isSearch }: { tree: Tree; isSearch: boolean }): ReactNode {
  const { rows, tail } = tree.flat.branch;
  if (rows.length === 0)
    return <div className={`flex-none bold line-over clip ${classes.totals}`} />;
  const { count, bytes, coverage } = totalsOf(rows);
  const more = tail === 'none' ? '' : '+';
  const tenants = `${formatCount(rows.length)}${more} ${rows.length === 1 ? 'tenant' : 'tenants'}`;
  return (
    <div className={`flex-none bold line-over clip ${classes.totals}`}>
      <span className={`row shrink ${classes.name}`}>
        {tenants}
        {isSearch ? ' found' : ''}
      </span>
      <span className="cut right">
        {formatCount(count)}
        {more}
      </span>
      <span className="cut right">
        {formatBytes(bytes)}
        {more}
      </span>
      <span className="cut right">{formatShare(coverage)}</span>
    </div>
  );
}

/** The search field of the tree. */
function TreeSearch({ q, onSearch }: { q: string; onSearch: (q: string) => void }): ReactNode {
  return (
    <TextFilter
      className="grow"
      label="Find a tenant, or a store as TX/D"
      placeholder="Find tenant, or TX/D for its stores"
      value={q === '' ? undefined : q}
      onChange={(text = '') => onSearch(text)}
      isSearch
      maxLength={257}
      onArrowDown={() =>
        document.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')?.focus()
      }
    />
  );
}

/** The line between the tree and the rest. */
export function TreeSeparator(): ReactNode {
  return (
    <Separator
      className={`separator ${pageClasses.separator}`}
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
