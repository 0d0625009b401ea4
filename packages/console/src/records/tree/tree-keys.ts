import { type FlatTree, findByPrefix, nodeAt, positionOf } from './flat-tree.ts';

/** What a key press does to a tree: the pattern of the ARIA authoring practices. */
export type TreeMove =
  | { type: 'go'; position: number }
  | { type: 'open'; key: string }
  | { type: 'close'; key: string }
  | { type: 'openSiblings'; keys: string[] }
  | { type: 'choose'; key: string }
  | null;

/** `*` opens all siblings, but no more than these: each is a request. */
const maxOpened = 50;

type TreeKeyPress = {
  key: string;
  /** Letters typed in one go, this one included. */
  typed: string;
  /** Rows that fit on the screen. */
  pageRows: number;
};

export function moveInTree(flat: FlatTree, at: number, press: TreeKeyPress): TreeMove {
  const last = flat.length - 1;
  const go = (position: number): TreeMove => ({
    type: 'go',
    position: Math.min(last, Math.max(0, position)),
  });
  const node = nodeAt(flat, at);
  switch (press.key) {
    case 'ArrowDown':
      return go(at + 1);
    case 'ArrowUp':
      return go(at - 1);
    case 'Home':
      return go(0);
    case 'End':
      return go(last);
    case 'PageDown':
      return go(at + press.pageRows);
    case 'PageUp':
      return go(at - press.pageRows);
    default:
  }
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
  // The first letter looks for the next one; more letters may go on matching where it stands.
  const found = findTyped(flat, at, press.typed);
  return found < 0 ? null : go(found);
}

/** The same letter again and again goes from one to the next, unless a name begins with all of them. */
function findTyped(flat: FlatTree, at: number, typed: string): number {
  const found = findByPrefix(flat, typed.length === 1 ? at + 1 : at, typed);
  const isRepeated = typed.length > 1 && [...typed].every((letter) => letter === typed[0]);
  return found < 0 && isRepeated ? findByPrefix(flat, at + 1, typed.slice(0, 1)) : found;
}

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
