import type { UseQueryResult } from '@tanstack/react-query';
import {
  type ComponentProps,
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { DatasetRow } from '../api/types.ts';
import { UpdatedLine } from '../ui/freshness.tsx';
import { hasFilter } from '../ui/hash-state.ts';
import { useKeys } from '../ui/keys.ts';
import { lazyPart, useIdlePreload } from '../ui/lazy-part.tsx';
import { useSession } from '../ui/session.ts';
import { useHashSearch, usePanel } from '../ui/use-search.ts';
import { NodeFacts } from './facts/node-facts.tsx';
import { useFacts } from './facts/use-facts.ts';
import { NodeActions } from './node-actions.tsx';
import { NarrowCount, NodeView, NodeViews, useNodeViews, useViewsAhead } from './node-view.tsx';
import { Overview } from './overview.tsx';
import classes from './page.module.css';
import { panelParts } from './panel-parts.ts';
import {
  changeSearch,
  chooseNode,
  chosenNode,
  decodeOpen,
  encodeOpen,
  type NodePath,
  nodeKey,
  noFilters,
  parseNodeKey,
  type RecordsSearch,
  type RecordsView,
  recordsPanels,
  validateRecordsSearch,
  withoutPanel,
} from './search.ts';
import { type Records, useRecords } from './table/records-page.ts';
import { TreePanel, TreeSeparator } from './tree/tree-panel.tsx';
import { useTree } from './tree/use-tree.ts';

const RecordsPanels = lazyPart('RecordsPanels', () => import('./panels.tsx'));

/** The page RECORDS: the tree on the left, the chosen node with its records on the right. */
export function RecordsPage(): ReactNode {
  const [search, update] = useHashSearch('/records', validateRecordsSearch);
  const open = useMemo(() => decodeOpen(search.open), [search.open]);
  const tree = useTree(open, search.q ?? '', search.sort);
  const path = useMemo(() => chosenNode(search), [search]);
  const facts = useFacts(path);
  const records = useRecords(search);
  const views = useNodeViews(search, path, facts.data);
  useViewsAhead();
  const panel = usePanel(search.panel, recordsPanels, (next, options) =>
    update((before) => changeSearch(before, { panel: next }), options),
  );
  const { hasScope } = useSession();
  const picker = usePicker(path);

  const choose = useCallback(
    (next: NodePath) => update((before) => withNode(before, next)),
    [update],
  );
  const chooseKey = useCallback(
    (key: string) => {
      const next = parseNodeKey(key);
      if (next === undefined) return;
      choose(next);
      picker.close();
    },
    [choose, picker.close],
  );
  const setOpen = useCallback(
    (keys: readonly string[], isOpen: boolean) =>
      // Opening a branch replaces the entry in the history, so that Back goes to the previous place, not through every
      // branch that was opened.
      update((before) => withOpen(before, keys, isOpen), { replace: true }),
    [update],
  );
  const find = useCallback(
    (q: string) =>
      update((before) => changeSearch(before, { q: q || undefined }), { replace: true }),
    [update],
  );
  useRevealed(path, open, setOpen);
  useKeys({ t: () => path !== null && hasScope('datasets:write') && panel.open('tag') });
  const shown = [facts, ...(search.view === undefined ? [records] : views.watched)];
  const queries: UseQueryResult[] = [...tree.queries, ...(path === null ? [] : shown)];
  return (
    <div className={classes.page} data-screen={picker.isOpen ? 'tree' : 'node'}>
      <UpdatedLine queries={queries} />
      <TreePanel
        tree={tree}
        q={search.q ?? ''}
        sort={search.sort}
        onSearch={find}
        onSort={(sort) => update((before) => changeSearch(before, { sort }), { replace: true })}
        chosen={path === null ? null : nodeKey(path)}
        onChoose={chooseKey}
        onOpen={setOpen}
        {...(path !== null && { onClose: picker.close })}
      />
      <TreeSeparator />
      <div ref={picker.side} tabIndex={-1} className={`stack shrink ${classes.side}`}>
        {path === null ? (
          <Overview tree={tree} isSearch={search.q !== undefined} onChoose={choose} />
        ) : (
          <>
            <NodeFacts
              path={path}
              facts={facts}
              narrow={narrowCount(search, facts.data, records)}
              actions={<NodeActions tenant={path.tenant} onOpen={panel.open} />}
              onChoose={choose}
              onPick={picker.open}
            />
            <NodeViews
              view={search.view ?? 'records'}
              onView={(view) => update((before) => withView(before, view))}
            />
            <NodeView
              search={search}
              update={update}
              path={path}
              facts={facts}
              records={records}
              views={views}
              onChoose={choose}
              panel={panel}
            />
          </>
        )}
      </div>
      <OnceOpened
        panel={panel}
        search={search}
        update={update}
        facts={facts.data}
        fields={views.fields}
        onClose={panel.close}
      />
    </div>
  );
}

/** The panels since one was first open: an export goes on after its panel was closed. */
function OnceOpened(props: ComponentProps<typeof RecordsPanels>): ReactNode {
  // They are loaded while the page rests, so that they open at once.
  useIdlePreload([RecordsPanels, ...panelParts]);
  const [isOnce, setOnce] = useState(false);
  if (props.panel.place !== undefined && !isOnce) setOnce(true);
  return isOnce && <RecordsPanels {...props} />;
}

/** What stands before the number of all records while the list has only some of them. */
function narrowCount(
  search: RecordsSearch,
  facts: DatasetRow | null | undefined,
  records: Records,
): ReactNode {
  if (search.view !== undefined || !hasFilter(search, noFilters)) return false;
  return <NarrowCount search={search} facts={facts ?? undefined} records={records} />;
}

/** On a narrow screen the tree takes the place of the node while nothing is chosen, or another node is sought. */
function usePicker(path: NodePath | null) {
  const [isAsked, setAsked] = useState(false);
  const side = useRef<HTMLDivElement>(null);
  const isOpen = isAsked || path === null;
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    const isClosing = wasOpen.current && !isOpen;
    wasOpen.current = isOpen;
    if (isClosing && !isTreeShown()) side.current?.focus();
  }, [isOpen]);
  const close = useCallback(() => setAsked(false), []);
  const open = useCallback(() => {
    setAsked(true);
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')?.focus(),
    );
  }, []);
  return { isOpen, side, open, close };
}

/** Whether the tree can be seen; what is hidden with it loses the focus. */
function isTreeShown(): boolean {
  const tree = document.querySelector('[role="tree"]');
  return tree?.checkVisibility({ visibilityProperty: true }) ?? false;
}

/** Changes the view, and closes a panel about what the previous one listed. */
function withView(before: RecordsSearch, view: RecordsView): RecordsSearch {
  return withoutPanel(changeSearch(before, { view }), ['record', 'field', 'version']);
}

/** Opens the branches above a node that a link chose, once for each choice, so that a person can close them again. */
function useRevealed(
  path: NodePath | null,
  open: ReadonlySet<string>,
  setOpen: (keys: readonly string[], isOpen: boolean) => void,
): void {
  const key = path === null ? null : nodeKey(path);
  const revealed = useRef<string | null>(null);
  useEffect(() => {
    if (revealed.current === key) return;
    revealed.current = key;
    const above = key === null ? [] : keysAbove(key);
    if (above.some((each) => !open.has(each))) setOpen(above, true);
  }, [key, open, setOpen]);
}

/** The keys of all nodes above one: `TX` and `TX/DFW` for `TX/DFW/2001-03`. */
function keysAbove(key: string): string[] {
  const names = key.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

/** Chooses a node, and opens it and everything above it. */
function withNode(before: RecordsSearch, path: NodePath): RecordsSearch {
  const search = chooseNode(before, path);
  const keys = [path.tenant];
  if (path.store !== undefined) keys.push(`${path.tenant}/${path.store}`);
  return withOpen(search, keys, true);
}

/** Opens or closes these nodes of the tree. */
function withOpen(before: RecordsSearch, keys: readonly string[], isOpen: boolean): RecordsSearch {
  const open = decodeOpen(before.open);
  for (const key of keys) {
    if (isOpen) open.add(key);
    else open.delete(key);
  }
  return changeSearch(before, { open: encodeOpen(open) });
}
