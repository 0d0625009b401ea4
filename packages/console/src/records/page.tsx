import { Button, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { UseQueryResult } from '@tanstack/react-query';
import {
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useSession } from '../frame/session.tsx';
import { FreshnessBanner } from '../ui/freshness.tsx';
import { CheckIcon, DownloadIcon, LinkIcon } from '../ui/icons.tsx';
import { NodeFacts } from './facts/node-facts.tsx';
import { useFacts } from './facts/use-facts.ts';
import { type NodePath, nodeKey, parseNodeKey } from './node.ts';
import { Overview } from './overview.tsx';
import classes from './page.module.css';
import {
  changeFilters,
  changeSearch,
  chooseNode,
  chosenNode,
  decodeOpen,
  encodeOpen,
  type RecordsSearch,
  sliceOf,
} from './search.ts';
import { RecordsFilters } from './table/records-filters.tsx';
import { RecordsPager } from './table/records-pager.tsx';
import { RecordsTable } from './table/records-table.tsx';
import tableClasses from './table/table.module.css';
import { useRecords } from './table/use-records.ts';
import { TreePanel } from './tree/tree-panel.tsx';
import { useTree } from './tree/use-tree.ts';
import { TreeSeparator } from './tree-separator.tsx';
import { type UpdateSearch, useRecordsSearch } from './use-records-search.ts';

const RecordDrawer = lazy(() =>
  import('./drawer/record-drawer.tsx').then(({ RecordDrawer }) => ({ default: RecordDrawer })),
);
const ExportPanel = lazy(() =>
  import('./export/export-panel.tsx').then(({ ExportPanel }) => ({ default: ExportPanel })),
);

/** RECORDS: the tree on the left, the chosen node with its records on the right. */
export function RecordsPage(): ReactNode {
  const [search, update] = useRecordsSearch();
  const open = useMemo(() => decodeOpen(search.open), [search.open]);
  const tree = useTree(open, search.q ?? '');
  const path = useMemo(() => chosenNode(search), [search]);
  const facts = useFacts(path);
  const records = useRecords(search);
  const drawer = useDrawer(search, update);
  const [isExporting, setExporting] = useState(false);

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
      // Back is for places, not for every twig that was opened.
      update((before) => withOpen(before, keys, isOpen), { replace: true }),
    [update],
  );
  const find = useCallback(
    (q: string) =>
      update((before) => changeSearch(before, { q: q === '' ? undefined : q }), { replace: true }),
    [update],
  );
  useRevealed(path, open, setOpen);
  const queries: UseQueryResult[] =
    path === null ? tree.queries : [...tree.queries, facts, records];
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
              from={search.from}
              to={search.to}
              actions={<Actions onExport={() => setExporting(true)} />}
              onChoose={choose}
              onDays={(from, to) => update((before) => changeFilters(before, { from, to }))}
            />
            <RecordsPart
              search={search}
              update={update}
              records={records}
              total={totalOf(search, facts.data)}
              onOpen={drawer.open}
            />
          </>
        )}
      </div>
      <Suspense>
        {search.record !== undefined && (
          <RecordDrawer recordKey={search.record} onClose={drawer.close} />
        )}
        {isExporting && path !== null && (
          <Export search={search} facts={facts.data ?? null} onClose={() => setExporting(false)} />
        )}
      </Suspense>
    </div>
  );
}

type Facts = { count: number; first_at: string | null; last_at: string | null; days?: number[] };

function RecordsPart(props: {
  search: RecordsSearch;
  update: UpdateSearch;
  records: ReturnType<typeof useRecords>;
  total: number | null;
  onOpen: (key: string) => void;
}): ReactNode {
  const { search, update, records, total } = props;
  const { kind, source, from, to, cursor } = search;
  const isFiltered = [kind, source, from, to].some((filter) => filter !== undefined);
  return (
    <>
      <div className={tableClasses.bar}>
        <RecordsFilters
          search={search}
          onChange={(change) => update((before) => changeFilters(before, change))}
        />
      </div>
      <RecordsTable
        page={records}
        hasStore={search.store === undefined}
        isFiltered={isFiltered}
        open={search.record}
        place={JSON.stringify([sliceOf(search), kind, source, cursor])}
        onOpen={props.onOpen}
        onClearFilters={() =>
          update((before) =>
            changeFilters(before, {
              kind: undefined,
              source: undefined,
              from: undefined,
              to: undefined,
            }),
          )
        }
      />
      <RecordsPager
        search={search}
        page={records.data}
        isWaiting={records.isPlaceholderData}
        total={total}
        onPage={(next, at) =>
          update((before) => changeSearch(before, { cursor: next, at, record: undefined }))
        }
        onPageSize={(limit) => update((before) => changeSearch(before, { limit }))}
      />
    </>
  );
}

function Export(props: {
  search: RecordsSearch;
  facts: Facts | null;
  onClose: () => void;
}): ReactNode {
  const { search, facts, onClose } = props;
  const slice = sliceOf(search);
  if (slice === null) return null;
  const first = facts?.first_at?.slice(0, 10);
  const last = facts?.last_at?.slice(0, 10);
  return (
    <ExportPanel
      slice={slice}
      kind={search.kind}
      source={search.source}
      days={first === undefined || last === undefined ? null : [first, last]}
      onClose={onClose}
    />
  );
}

function Actions({ onExport }: { onExport: () => void }): ReactNode {
  const { hasScope } = useSession();
  const { copied, copy } = useClipboard({ timeout: 1500 });
  const mayExport = hasScope('analytics:read');
  return (
    <>
      <Tooltip
        disabled={mayExport}
        label="Your token lacks the scope analytics:read. Ask an admin for the preset support-readonly."
        multiline
        w={280}
      >
        <Button
          leftSection={<DownloadIcon />}
          // Disabled, but still reached by key: whoever meets it shall learn why.
          aria-disabled={!mayExport}
          {...(mayExport ? {} : { 'data-disabled': true })}
          onClick={() => mayExport && onExport()}
        >
          EXPORT CSV
        </Button>
      </Tooltip>
      {!mayExport && <span className={classes.lacks}>needs analytics:read</span>}
      <Button
        leftSection={copied ? <CheckIcon /> : <LinkIcon />}
        onClick={() => copy(window.location.href)}
      >
        <span aria-live="polite">{copied ? 'Copied' : 'Copy link'}</span>
      </Button>
    </>
  );
}

/** Opening is a step, so that Back closes the drawer first; closing takes that step back. */
function useDrawer(search: RecordsSearch, update: UpdateSearch) {
  const isOurStep = useRef(false);
  const { record } = search;
  if (record === undefined) isOurStep.current = false;
  return {
    open: (key: string) => {
      // From record to record is no step of its own.
      const replace = record !== undefined;
      if (!replace) isOurStep.current = true;
      update((before) => changeSearch(before, { record: key }), { replace });
    },
    close: () => {
      if (isOurStep.current) window.history.back();
      else update((before) => changeSearch(before, { record: undefined }), { replace: true });
    },
  };
}

/**
 * A node that was chosen outside of the tree, as by a link, is opened up to. Once for each choice: who
 * then closes what it lies in keeps it closed.
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

/** `TX` and `TX/DFW` for `TX/DFW/2001-03`. */
function keysAbove(key: string): string[] {
  const names = key.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

/** Choosing also opens a node, and what it lies in. */
function withNode(before: RecordsSearch, path: NodePath): RecordsSearch {
  const search = chooseNode(before, path);
  const keys = [path.tenant];
  if (path.store !== undefined) keys.push(`${path.tenant}/${path.store}`);
  return withOpen(search, keys, true);
}

function withOpen(before: RecordsSearch, keys: readonly string[], isOpen: boolean): RecordsSearch {
  const open = decodeOpen(before.open);
  for (const key of keys) {
    if (isOpen) open.add(key);
    else open.delete(key);
  }
  return changeSearch(before, { open: encodeOpen(open) });
}

/** How many records the table walks through; null when a filter leaves that uncounted. */
function totalOf(search: RecordsSearch, facts: Facts | null | undefined): number | null {
  const { kind, source, from, to, month } = search;
  if (!facts || kind !== undefined || source !== undefined) return null;
  if (from === undefined && to === undefined) return facts.count;
  if (month === undefined || facts.days === undefined) return null;
  const first = from === undefined ? 1 : Number(from.slice(8));
  const last = to === undefined ? facts.days.length : Number(to.slice(8));
  return facts.days.slice(first - 1, last).reduce((sum, count) => sum + count, 0);
}
