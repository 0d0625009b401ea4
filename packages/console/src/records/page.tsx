import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { FreshnessBanner } from '../ui/freshness.tsx';
import { useKeys } from '../ui/keys.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useSession } from '../ui/session.ts';
import { type ChangeSearch, useDrawerStep, useHashSearch } from '../ui/use-search.ts';
import { NodeFacts } from './facts/node-facts.tsx';
import { useFacts } from './facts/use-facts.ts';
import { NodeActions } from './node-actions.tsx';
import { NodeView, useNodeViews, ViewSwitch } from './node-view.tsx';
import { Overview } from './overview.tsx';
import classes from './page.module.css';
import {
  changeSearch,
  chooseNode,
  chosenDays,
  chosenNode,
  decodeOpen,
  encodeOpen,
  type NodePath,
  nodeKey,
  parseNodeKey,
  type RecordsSearch,
  type RecordsView,
  type SliceParams,
  sliceOf,
  validateRecordsSearch,
} from './search.ts';
import { useRecords } from './table/records-page.ts';
import { TreePanel } from './tree/tree-panel.tsx';
import { TreeSeparator } from './tree/tree-separator.tsx';
import { useTree } from './tree/use-tree.ts';

const RecordDrawer = lazyPart(
  'records/record-drawer',
  async () => (await import('./record-drawer.tsx')).RecordDrawer,
);
const ExportPanel = lazyPart(
  'records/export/export-panel',
  async () => (await import('./export/export-panel.tsx')).ExportPanel,
);

const VersionDrawer = lazyPart(
  'records/versions/version-drawer',
  async () => (await import('./versions/version-drawer.tsx')).VersionDrawer,
);
const TagDialog = lazyPart(
  'records/tags/tag-dialog',
  async () => (await import('./tags/tag-dialog.tsx')).TagDialog,
);

/** The page RECORDS: the tree on the left, the chosen node with its records on the right. */
export function RecordsPage(): ReactNode {
  const [search, update] = useHashSearch('/records', validateRecordsSearch);
  const open = useMemo(() => decodeOpen(search.open), [search.open]);
  const tree = useTree(open, search.q ?? '');
  const path = useMemo(() => chosenNode(search), [search]);
  const facts = useFacts(path);
  const records = useRecords(search);
  const views = useNodeViews(search, path, facts.data);
  const record = useDrawer('record', search, update);
  const version = useDrawer('version', search, update);
  const { hasScope } = useSession();
  const mayWrite = hasScope('datasets:write');
  const [isExporting, setExporting] = useState(false);
  const [isTagging, setTagging] = useState(false);

  const choose = useCallback(
    (next: NodePath) => update((before) => withNode(before, next)),
    [update],
  );
  const chooseKey = useCallback(
    (key: string) => {
      const next = parseNodeKey(key);
      if (next !== undefined) choose(next);
    },
    [choose],
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
      update((before) => changeSearch(before, { q: q === '' ? undefined : q }), { replace: true }),
    [update],
  );
  useRevealed(path, open, setOpen);
  useKeys({ t: () => path !== null && mayWrite && setTagging(true) });
  const shown = search.view === undefined ? [records] : views.watched;
  const queries: UseQueryResult[] =
    path === null ? tree.queries : [...tree.queries, facts, ...shown];
  return (
    <div className={classes.page}>
      <FreshnessBanner queries={queries} />
      <TreePanel
        tree={tree}
        q={search.q ?? ''}
        onSearch={find}
        chosen={path === null ? null : nodeKey(path)}
        onChoose={chooseKey}
        onOpen={setOpen}
      />
      <TreeSeparator />
      <div className={classes.side}>
        {path === null ? (
          <Overview tree={tree} isSearch={search.q !== undefined} />
        ) : (
          <>
            <NodeFacts
              path={path}
              facts={facts}
              actions={
                <NodeActions onExport={() => setExporting(true)} onTag={() => setTagging(true)} />
              }
              onChoose={choose}
            />
            <ViewSwitch
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
              onTag={() => setTagging(true)}
              onRecord={record.open}
              onVersion={version.open}
            />
          </>
        )}
      </div>
      {search.record !== undefined && (
        <RecordDrawer recordKey={search.record} onClose={record.close} />
      )}
      {search.version !== undefined && (
        <VersionDrawer
          key={search.version}
          id={search.version}
          mayDelete={mayWrite}
          onClose={version.close}
        />
      )}
      {isTagging && path !== null && (
        <TagDialog
          place={{ ...path, ...chosenDays(search, facts.data) }}
          onClose={() => setTagging(false)}
        />
      )}
      {isExporting && (
        <Export search={search} facts={facts.data ?? null} onClose={() => setExporting(false)} />
      )}
    </div>
  );
}

type Facts = { count: number; first_at: string | null; last_at: string | null };

/** The export panel for the chosen slice. */
function Export(props: {
  search: RecordsSearch;
  facts: Facts | null;
  onClose: () => void;
}): ReactNode {
  const { search, facts, onClose } = props;
  // The last slice is kept, so that a running export goes on when nothing is chosen any more.
  const lastSlice = useRef<SliceParams | null>(null);
  const slice = sliceOf(search) ?? lastSlice.current;
  lastSlice.current = slice;
  if (slice === null) return null;
  const first = facts?.first_at?.slice(0, 10);
  const last = facts?.last_at?.slice(0, 10);
  return (
    <ExportPanel
      slice={slice}
      kind={search.kind}
      source={search.source}
      dataset={search.dataset}
      days={first === undefined || last === undefined ? null : [first, last]}
      onClose={onClose}
    />
  );
}

/** One of the page's drawers, which the hash opens by the id of what it shows. */
function useDrawer(
  kind: 'record' | 'version',
  search: RecordsSearch,
  update: ChangeSearch<RecordsSearch>,
) {
  return useDrawerStep(search[kind], (next, options) =>
    update((before) => changeSearch(before, { [kind]: next }), options),
  );
}

/** Changes the view, and closes the drawers, which belonged to the previous one. */
function withView(before: RecordsSearch, view: RecordsView): RecordsSearch {
  return changeSearch(before, { view, record: undefined, version: undefined });
}

/**
 * Opens the branches above a node that was chosen outside of the tree, for instance by a link. This is done once for
 * each choice, so that a person can close them again.
 */
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
