import type { DatasetRow } from '../../api/types.ts';

/** What is loaded of one node's children. */
export type Branch = {
  rows: readonly DatasetRow[];
  /** The names of all children, while their rows are still to be read or are to be read again; otherwise null. */
  names: readonly string[] | null;
  /** What follows the loaded rows: nothing; rows that are being loaded or can be loaded; or a failure. */
  tail: 'none' | 'loading' | 'more' | 'failed';
};

/** The name of a row as shown below its parent. */
export function rowName(row: DatasetRow): string {
  return row.month ?? row.store ?? row.tenant;
}

/** The key of a row: `TX`, `TX/DFW`, `TX/DFW/2001-03`. */
export function rowKey(row: DatasetRow): string {
  if (row.store === null) return row.tenant;
  return row.month === null
    ? `${row.tenant}/${row.store}`
    : `${row.tenant}/${row.store}/${row.month}`;
}

/**
 * The visible nodes as one list, which is never built. A branch only stores where its open children are and how many
 * rows they have. So opening a node among 100,000 takes one pass over its siblings, and finding the node at a position
 * takes a binary search.
 */
export type FlatTree = {
  parent: string;
  branch: Branch;
  level: number;
  /** Indices of the open rows, ascending. */
  openRows: number[];
  openTrees: FlatTree[];
  /** Number of visible nodes inside all open rows before each open row. */
  insideBefore: number[];
  /** Number of visible nodes in all. */
  length: number;
};

/** One line of the visible tree: a row, or what stands at the end of a branch that is not complete. */
export type VisibleNode =
  | {
      type: 'row';
      key: string;
      name: string;
      parent: string;
      /** Null while only its name is known. */
      row: DatasetRow | null;
      /** Whether it is still to be read, or to be read again; and whether that failed. */
      isDue: boolean;
      isFailed: boolean;
      level: number;
      position: number;
      siblings: number;
      isOpen: boolean;
    }
  | { type: 'tail'; key: string; parent: string; level: number; tail: Branch['tail'] };

const loading: Branch = { rows: [], names: null, tail: 'loading' };

type FlattenInput = { branches: ReadonlyMap<string, Branch>; open: ReadonlySet<string> };

/** Makes the flat tree from the root down; the key of the root is the empty string. */
export function flatten({ branches, open }: FlattenInput): FlatTree {
  const openNames = new Map<string, Set<string>>();
  for (const key of open) {
    const slash = key.lastIndexOf('/');
    const parent = slash < 0 ? '' : key.slice(0, slash);
    const names = openNames.get(parent) ?? new Set();
    openNames.set(parent, names.add(key.slice(slash + 1)));
  }
  const flattenBranch = (parent: string, level: number): FlatTree => {
    const branch = branches.get(parent) ?? loading;
    const flat: FlatTree = {
      parent,
      branch,
      level,
      openRows: [],
      openTrees: [],
      insideBefore: [],
      length: branch.names?.length ?? branch.rows.length + (branch.tail === 'none' ? 0 : 1),
    };
    const names = openNames.get(parent);
    if (level > 2 || names === undefined) return flat;
    let inside = 0;
    for (const [index, row] of branch.rows.entries()) {
      if (!names.has(rowName(row))) continue;
      const child = flattenBranch(rowKey(row), level + 1);
      flat.openRows.push(index);
      flat.openTrees.push(child);
      flat.insideBefore.push(inside);
      inside += child.length;
    }
    flat.length += inside;
    return flat;
  };
  return flattenBranch('', 1);
}

/** The node at a position of the visible list. */
export function nodeAt(flat: FlatTree, position: number): VisibleNode | undefined {
  if (position < 0 || position >= flat.length) return undefined;
  const before = lastOpenBefore(flat, position);
  const tree = flat.openTrees[before];
  const openRow = flat.openRows[before];
  if (tree === undefined || openRow === undefined) return rowAt(flat, position, false);
  const offset = position - openRow - (flat.insideBefore[before] ?? 0);
  if (offset === 0) return rowAt(flat, openRow, true);
  if (offset <= tree.length) return nodeAt(tree, offset - 1);
  return rowAt(flat, openRow + offset - tree.length, false);
}

/** The node of a row, or of what stands behind the last of a branch. `siblings` is -1 while nobody knows how many. */
function rowAt(flat: FlatTree, index: number, isOpen: boolean): VisibleNode {
  const { branch, level, parent } = flat;
  const { rows, names, tail } = branch;
  const row = rows[index];
  const name = names === null ? row && rowName(row) : names[index];
  if (name === undefined) return { type: 'tail', key: `${parent}//${tail}`, parent, level, tail };
  return {
    type: 'row',
    key: parent === '' ? name : `${parent}/${name}`,
    name,
    parent,
    level,
    isOpen,
    row: row !== undefined && rowName(row) === name ? row : rowNamed(rows, name),
    isDue: names !== null,
    isFailed: names !== null && tail === 'failed',
    position: index + 1,
    siblings: names?.length ?? (tail === 'none' ? rows.length : -1),
  };
}

function rowNamed(rows: readonly DatasetRow[], name: string): DatasetRow | null {
  return rows.find((row) => rowName(row) === name) ?? null;
}

/** Index of the last open row that stands at or before the position; -1 if none does. */
function lastOpenBefore(flat: FlatTree, position: number): number {
  let low = 0;
  let high = flat.openRows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const start = (flat.openRows[middle] ?? 0) + (flat.insideBefore[middle] ?? 0);
    if (start <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The position of a node in the visible list; -1 when it is not visible. */
export function positionOf(flat: FlatTree, key: string): number {
  const prefix = flat.parent === '' ? '' : `${flat.parent}/`;
  if (!key.startsWith(prefix)) return -1;
  const [name] = key.slice(prefix.length).split('/');
  const { rows, names } = flat.branch;
  const index = names?.indexOf(name ?? '') ?? rows.findIndex((row) => rowName(row) === name);
  if (index < 0) return -1;
  const open = lastOpenUpTo(flat, index);
  const inside =
    (flat.insideBefore[open] ?? 0) + (isBefore(flat, open, index) ? lengthOf(flat, open) : 0);
  if (key.length === prefix.length + (name?.length ?? 0)) return index + inside;
  const tree = flat.openRows[open] === index ? flat.openTrees[open] : undefined;
  const within = tree === undefined ? -1 : positionOf(tree, key);
  return within < 0 ? -1 : index + inside + 1 + within;
}

function lastOpenUpTo(flat: FlatTree, index: number): number {
  let last = flat.openRows.length - 1;
  while (last >= 0 && (flat.openRows[last] ?? 0) > index) last -= 1;
  return last;
}

function isBefore(flat: FlatTree, open: number, index: number): boolean {
  return open >= 0 && (flat.openRows[open] ?? index) < index;
}

function lengthOf(flat: FlatTree, open: number): number {
  return flat.openTrees[open]?.length ?? 0;
}

/** The next visible row from `start` on (around the end) whose name begins with the typed letters; -1 if none. */
export function findByPrefix(flat: FlatTree, start: number, typed: string): number {
  const prefix = typed.toLowerCase();
  // The search is bounded: a key press must not walk through a million rows.
  const steps = Math.min(flat.length, 200_000);
  for (let step = 0; step < steps; step += 1) {
    const position = (start + step) % flat.length;
    const node = nodeAt(flat, position);
    if (node?.type === 'row' && node.name.toLowerCase().startsWith(prefix)) return position;
  }
  return -1;
}
