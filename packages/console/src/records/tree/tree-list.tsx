import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react';
import { type FlatTree, findByPrefix, nodeAt, positionOf } from './flat-tree.ts';
import classes from './tree.module.css';
import { TreeRow } from './tree-row.tsx';
import type { Tree } from './use-tree.ts';

const rowPx = 32;
/** Rows drawn beyond both edges of the screen, so that fast scrolling shows no gap. */
const overscan = 12;
/** Rows are asked for when they are this many rows away from the screen. */
const lookAheadRows = 100;
/** Nobody reads rows that go by faster than so many a millisecond; they are left out until the list is slower. */
const fastRows = 0.15;
const restMillis = 50;
const typingMillis = 700;

export type TreeListProps = {
  tree: Tree;
  /** Key of the chosen node. */
  chosen: string | null;
  onChoose: (key: string) => void;
  onOpen: (keys: readonly string[], isOpen: boolean) => void;
};

/** The list of visible nodes. Only those on the screen are in the document. */
export function TreeList({ tree, chosen, onChoose, onOpen }: TreeListProps): ReactNode {
  const { flat } = tree;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(chosen);
  const activeAt = Math.max(0, active === null ? 0 : positionOf(flat, active));
  const virtual = useVirtualizer({
    count: flat.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan,
    // The active row always stays in the document; otherwise the focus would leave the tree while scrolling.
    rangeExtractor: (range: Range) =>
      withActive(defaultRangeExtractor(range), activeAt, flat.length),
  });
  const items = virtual.getVirtualItems();
  useLoadNear(tree, virtual.range?.startIndex ?? 0, virtual.range?.endIndex ?? 0);
  const revealed = useRef<string | null>(null);
  // When a node was chosen by a link, or elsewhere on the page, it is scrolled into view once it is loaded.
  useEffect(() => {
    if (chosen === null || revealed.current === chosen) return;
    const position = positionOf(flat, chosen);
    if (position < 0) return;
    revealed.current = chosen;
    setActive(chosen);
    virtual.scrollToIndex(position, { align: 'center' });
  }, [chosen, flat, virtual]);
  const typed = useTyping();

  const focusNext = useFocusAfterPaint(scroller);
  const go = (position: number) => {
    const node = nodeAt(flat, position);
    if (node?.type !== 'row') return;
    focusNext.current = node.key;
    setActive(node.key);
    virtual.scrollToIndex(position, { align: 'auto' });
  };
  const choose = (key: string) => {
    // The row is in sight already, so nothing shall scroll.
    revealed.current = key;
    onChoose(key);
  };
  const run = (move: TreeMove) => {
    if (move === null) return;
    if (move.type === 'go') go(move.position);
    else if (move.type === 'choose') choose(move.key);
    else if (move.type === 'openSiblings') onOpen(move.keys, true);
    else onOpen([move.key], move.type === 'open');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pageRows = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowPx) - 1);
    const move = moveInTree(flat, activeAt, { key: event.key, typed: typed(event.key), pageRows });
    if (move === null) return;
    event.preventDefault();
    event.stopPropagation();
    run(move);
  };
  const onClick = (event: MouseEvent<HTMLElement>) => {
    const target = event.target as Element;
    const retry = target.closest<HTMLElement>('[data-retry]')?.dataset.retry;
    if (retry !== undefined) return tree.retry(retry);
    const row = target.closest<HTMLElement>('[data-key]');
    const key = row?.dataset.key;
    if (row === null || key === undefined) return;
    focusNext.current = key;
    setActive(key);
    if (target.closest('[data-toggle]')) {
      onOpen([key], row.getAttribute('aria-expanded') !== 'true');
    } else choose(key);
  };
  return (
    <div ref={scroller} className={classes.scroller}>
      <div
        role="tree"
        aria-label="Tenants, stores and months"
        className="relative"
        style={{ height: virtual.getTotalSize() }}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        {items.map((item) => {
          const node = nodeAt(flat, item.index);
          if (node === undefined) return null;
          return (
            <TreeRow
              key={node.key}
              node={node}
              top={item.start}
              isActive={item.index === activeAt}
              isChosen={node.key === chosen}
            />
          );
        })}
      </div>
    </div>
  );
}

function withActive(indices: number[], active: number, length: number): number[] {
  const first = indices[0] ?? 0;
  const last = indices.at(-1) ?? 0;
  if (active >= length || (active >= first && active <= last)) return indices;
  return active < first ? [active, ...indices] : [...indices, active];
}

/** Answers where the row is named that gets the focus once it is in the document. */
function useFocusAfterPaint(scroller: RefObject<HTMLElement | null>): RefObject<string | null> {
  const focusNext = useRef<string | null>(null);
  // This runs after every paint, because the row that shall get the focus may have come into the document only now. The
  // key press names the row, since this effect may still belong to an earlier paint.
  useEffect(() => {
    const key = focusNext.current;
    if (key === null) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
    if (!row) return;
    row.focus({ preventScroll: true });
    focusNext.current = null;
  });
  return focusNext;
}

/** Loads the rows that are due on the screen or near it, and the next page of each branch whose end comes. */
function useLoadNear(tree: Tree, first: number, last: number): void {
  const { flat, loadMore, loadDue } = tree;
  const asked = useRef(new Map<string, number>());
  const moved = useRef({ first, at: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another search is another tree
  useEffect(() => asked.current.clear(), [loadMore]);
  useEffect(() => {
    const due = new Set<string>();
    const from = Math.max(0, first - lookAheadRows);
    for (let position = from; position <= last + lookAheadRows; position += 1) {
      const node = nodeAt(flat, position);
      if (node === undefined) break;
      if (node.type === 'row' && node.isDue) due.add(node.parent);
      if (node.type !== 'tail' || node.tail !== 'more' || position < first) continue;
      // Each end is asked for once; the branch must have grown before it is asked for again.
      if (asked.current.get(node.parent) === position) continue;
      asked.current.set(node.parent, position);
      loadMore(node.parent);
    }
    const before = moved.current;
    moved.current = { first, at: performance.now() };
    const isFast = Math.abs(first - before.first) > fastRows * (moved.current.at - before.at);
    // A list that stops, or that jumped, has no next move that would cancel this.
    const timer = setTimeout(() => loadDue(due), isFast ? restMillis : 0);
    return () => clearTimeout(timer);
  }, [flat, loadMore, loadDue, first, last]);
}

/** Collects letters that are typed within a short time into one text. */
function useTyping(): (key: string) => string {
  const state = useRef({ text: '', at: 0 });
  return (key) => {
    if (key === 'Shift') return '';
    if (key.length !== 1 || key === ' ' || key === '*') {
      // Moving to another row ends the name that was being typed.
      state.current = { text: '', at: 0 };
      return '';
    }
    const now = performance.now();
    const { text, at } = state.current;
    state.current = { text: now - at < typingMillis ? text + key : key, at: now };
    return state.current.text;
  };
}

/** What a key press does to a tree: the pattern of the ARIA authoring practices. */
type TreeMove =
  | { type: 'go'; position: number }
  | { type: 'open'; key: string }
  | { type: 'close'; key: string }
  | { type: 'openSiblings'; keys: string[] }
  | { type: 'choose'; key: string }
  | null;

/** `*` opens a row and the siblings below it, but at most this many, because each takes a request. */
const maxOpened = 50;

type TreeKeyPress = {
  key: string;
  /** All letters that were typed in a row, including this one. */
  typed: string;
  /** Number of rows that fit on the screen. */
  pageRows: number;
};

/** What a key press does, given the visible nodes and the position of the active one. */
export function moveInTree(flat: FlatTree, at: number, press: TreeKeyPress): TreeMove {
  const last = flat.length - 1;
  const go = (position: number): TreeMove => ({
    type: 'go',
    position: Math.min(last, Math.max(0, position)),
  });
  const node = nodeAt(flat, at);
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: last,
    PageDown: at + press.pageRows,
    PageUp: at - press.pageRows,
  };
  const target = targets[press.key];
  if (target !== undefined) return go(target);
  if (node?.type !== 'row') return null;
  switch (press.key) {
    case 'Enter':
    case ' ':
      return { type: 'choose', key: node.key };
    case 'ArrowRight':
      if (node.level === 3) return null;
      return node.isOpen ? go(at + 1) : { type: 'open', key: node.key };
    case 'ArrowLeft': {
      if (node.isOpen) return { type: 'close', key: node.key };
      const parent = node.key.slice(0, Math.max(0, node.key.lastIndexOf('/')));
      return parent === '' ? null : go(positionOf(flat, parent));
    }
    case '*':
      return node.level === 3 ? null : { type: 'openSiblings', keys: siblingsOf(flat, at) };
    default:
  }
  if (press.typed === '') return null;
  // The first letter goes to the next match; with more letters the present row may go on matching.
  const found = findTyped(flat, at, press.typed);
  return found < 0 ? null : go(found);
}

/** Typing the same letter repeatedly goes from one match to the next, unless a name begins with all of the letters. */
function findTyped(flat: FlatTree, at: number, typed: string): number {
  const found = findByPrefix(flat, typed.length === 1 ? at + 1 : at, typed);
  const isRepeated = typed.length > 1 && [...typed].every((letter) => letter === typed[0]);
  return found < 0 && isRepeated ? findByPrefix(flat, at + 1, typed.slice(0, 1)) : found;
}

/** The keys of a node and the siblings below it, at most `maxOpened`. */
function siblingsOf(flat: FlatTree, at: number): string[] {
  const node = nodeAt(flat, at);
  if (node?.type !== 'row') return [];
  const keys: string[] = [];
  let position = at;
  while (keys.length < maxOpened) {
    const next = nodeAt(flat, position);
    if (next === undefined || next.level < node.level) break;
    if (next.type === 'row' && next.level === node.level) keys.push(next.key);
    position += 1;
  }
  return keys;
}
