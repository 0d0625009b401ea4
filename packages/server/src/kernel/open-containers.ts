/** Objects and arrays inside one another, the outermost included. */
export const maxNesting = 100;

/** Up to here comparing keys one by one is faster than a Set. */
const comparedKeys = 16;
/** From here on one native comparison is faster than a loop, and hostile keys cost nothing. */
const nativeCompareBytes = 32;
/** How many levels below `maxNesting` share one number of the bit stack. */
const levelsPerWord = 16;

/** What is asked of the scanner about keys; offsets are those of their quotes. */
export type KeyScanner = {
  bytes: Buffer;
  /** Whether the key just scanned holds a backslash. */
  hasEscape: boolean;
  /** The key just scanned, decoded. */
  stringValue: (start: number, end: number) => string;
  /** A key scanned before, which holds no backslash. */
  earlierString: (start: number, end: number) => string;
};

/**
 * The objects and arrays around the scan, innermost last, and the keys of the objects. Kept by hand,
 * not by recursion, because hostile text nests deeper than the call stack.
 */
export class OpenContainers {
  depth = 0;
  /** Per level: where the object's keys begin in `keys`; -1 for an array. */
  private readonly bases: number[] = [];
  /** Start and end of each key that is compared one by one. */
  private readonly keys: number[] = [];
  private keyTop = 0;
  /** Per level: decoded keys of an object with many keys or with an escaped one. */
  private readonly sets: Array<Set<string> | undefined> = [];
  /** Below `maxNesting`: a bit per level, set for an object, so that 32 MiB of `[` need 16 MiB. */
  private readonly deep: number[] = [];

  push(isObject: boolean): void {
    const { depth } = this;
    this.depth = depth + 1;
    if (depth < maxNesting) {
      this.bases[depth] = isObject ? this.keyTop : -1;
      this.sets[depth] = undefined;
      return;
    }
    const word = Math.floor((depth - maxNesting) / levelsPerWord);
    const bit = 1 << ((depth - maxNesting) % levelsPerWord);
    const bits = this.deep[word] ?? 0;
    this.deep[word] = isObject ? bits | bit : bits & ~bit;
  }

  pop(): void {
    this.depth -= 1;
    const base = this.depth < maxNesting ? (this.bases[this.depth] ?? -1) : -1;
    if (base >= 0) this.keyTop = base;
  }

  isObject(): boolean {
    const level = this.depth - 1;
    if (level < maxNesting) return (this.bases[level] ?? -1) >= 0;
    const bits = this.deep[Math.floor((level - maxNesting) / levelsPerWord)] ?? 0;
    return (bits & (1 << ((level - maxNesting) % levelsPerWord))) !== 0;
  }

  clear(): void {
    this.depth = 0;
    this.keyTop = 0;
  }

  /** False when the innermost object has the key just scanned already. */
  addKey(scanner: KeyScanner, start: number, end: number): boolean {
    const level = this.depth - 1;
    // Refused for its depth already.
    if (level >= maxNesting) return true;
    const base = this.bases[level] ?? 0;
    let set = this.sets[level];
    if (set === undefined) {
      if (!scanner.hasEscape && this.keyTop - base < 2 * comparedKeys) {
        return this.addCompared(scanner.bytes, base, start, end);
      }
      set = new Set();
      for (let i = base; i < this.keyTop; i += 2) {
        set.add(scanner.earlierString(this.keys[i] ?? 0, this.keys[i + 1] ?? 0));
      }
      this.sets[level] = set;
    }
    const sizeBefore = set.size;
    return set.add(scanner.stringValue(start, end)).size > sizeBefore;
  }

  private addCompared(bytes: Buffer, base: number, start: number, end: number): boolean {
    const { keys, keyTop } = this;
    const length = end - start;
    for (let i = base; i < keyTop; i += 2) {
      const other = keys[i] ?? 0;
      if ((keys[i + 1] ?? 0) - other === length && isSame(bytes, other, start, length))
        return false;
    }
    keys[keyTop] = start;
    keys[keyTop + 1] = end;
    this.keyTop = keyTop + 2;
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
