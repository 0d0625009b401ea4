/** Objects and arrays may be nested this deep, counting the outermost one. */
export const maxNesting = 100;

/** Up to this many keys, comparing them one by one is faster than a Set. */
const comparedKeys = 16;
/** From this length on, one native comparison is faster than a loop; it also makes long hostile keys cheap. */
const nativeCompareBytes = 32;
/** How many levels that are too deep share one number of the bit stack. */
const levelsPerWord = 16;

/**
 * What `OpenContainers` asks of the scanner about keys. Offsets are those before the opening and after the closing
 * quote.
 */
type KeyScanner = {
  bytes: Buffer;
  /** Whether the key that was just scanned holds a backslash. */
  hasEscape: boolean;
  /** The key that was just scanned, decoded. */
  stringValue: (start: number, end: number) => string;
  /** A key that was scanned before and holds no backslash. */
  earlierString: (start: number, end: number) => string;
};

/**
 * The objects and arrays around the current point of a scan, the innermost last, and the keys of the objects. They are
 * kept by hand and not by recursion, because hostile text nests deeper than the call stack.
 */
export class OpenContainers {
  depth = 0;
  /** For each level: where the keys of the object begin in `keys`, or -1 for an array. */
  readonly #bases: number[] = [];
  /** The start and the end of each key that is compared one by one. */
  readonly #keys: number[] = [];
  #keyTop = 0;
  /** For each level: the decoded keys of an object that has many keys or an escaped one. */
  readonly #sets: Array<Set<string> | undefined> = [];
  /** For levels that are too deep: one bit each, set for an object, so that 32 MiB of `[` need 16 MiB. */
  readonly #deep: number[] = [];
  readonly #most: number;

  /** Deeper than `most` levels keys are not looked at. */
  constructor(most: number) {
    this.#most = most;
  }

  push(isObject: boolean): void {
    const depth = this.depth;
    this.depth = depth + 1;
    if (depth < this.#most) {
      this.#bases[depth] = isObject ? this.#keyTop : -1;
      this.#sets[depth] = undefined;
      return;
    }
    const word = Math.floor((depth - this.#most) / levelsPerWord);
    const bit = 1 << ((depth - this.#most) % levelsPerWord);
    const bits = this.#deep[word] ?? 0;
    this.#deep[word] = isObject ? bits | bit : bits & ~bit;
  }

  pop(): void {
    this.depth -= 1;
    const base = this.depth < this.#most ? (this.#bases[this.depth] ?? -1) : -1;
    if (base >= 0) this.#keyTop = base;
  }

  isObject(): boolean {
    const level = this.depth - 1;
    if (level < this.#most) return (this.#bases[level] ?? -1) >= 0;
    const bits = this.#deep[Math.floor((level - this.#most) / levelsPerWord)] ?? 0;
    return (bits & (1 << ((level - this.#most) % levelsPerWord))) !== 0;
  }

  clear(): void {
    this.depth = 0;
    this.#keyTop = 0;
  }

  /** Adds the key that was just scanned. Returns false when the innermost object already has it. */
  addKey(scanner: KeyScanner, start: number, end: number): boolean {
    const level = this.depth - 1;
    // An object at this depth is refused already, so its keys need no check.
    if (level >= this.#most) return true;
    const base = this.#bases[level] ?? 0;
    let set = this.#sets[level];
    if (set === undefined) {
      if (!scanner.hasEscape && this.#keyTop - base < 2 * comparedKeys) {
        return this.#addCompared(scanner.bytes, base, start, end);
      }
      set = new Set();
      for (let i = base; i < this.#keyTop; i += 2) {
        // These keys were added before the Set was needed; none of them has an escape.
        set.add(scanner.earlierString(this.#keys[i] ?? 0, this.#keys[i + 1] ?? 0));
      }
      this.#sets[level] = set;
    }
    const sizeBefore = set.size;
    return set.add(scanner.stringValue(start, end)).size > sizeBefore;
  }

  #addCompared(bytes: Buffer, base: number, start: number, end: number): boolean {
    const keys = this.#keys;
    const keyTop = this.#keyTop;
    const length = end - start;
    for (let i = base; i < keyTop; i += 2) {
      const other = keys[i] ?? 0;
      if ((keys[i + 1] ?? 0) - other === length && isSame(bytes, other, start, length))
        return false;
    }
    keys[keyTop] = start;
    keys[keyTop + 1] = end;
    this.#keyTop = keyTop + 2;
    return true;
  }
}

function isSame(bytes: Buffer, left: number, right: number, length: number): boolean {
  if (length >= nativeCompareBytes) {
    return bytes.compare(bytes, left, left + length, right, right + length) === 0;
  }
  for (let i = 1; i < length; i += 1) {
    if (bytes[left + i] !== bytes[right + i]) return false;
  }
  return true;
}
