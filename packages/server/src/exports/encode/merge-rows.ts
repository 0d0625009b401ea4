import { cellQuote, closingQuote, rowEnd } from './csv-cells.ts';
import { jsonDialect, type RowForm } from './rows.ts';

/**
 * A row and the key that stood before it. The key is the store, the time and the event id, joined by U+0001, which none
 * of them may contain. Both are Latin-1 text, in which each character is one byte, so that keys compare by their bytes
 * and no byte changes.
 */
type KeyedRow = { key: string; row: string };

/** About this much is collected before it is handed on. */
const pieceLength = 256 * 1024;

/** Merges rows of two tiers by their keys, piece by piece, and cuts these off. What both have is handed on once. */
export async function* mergeRows(
  left: AsyncIterable<Buffer>,
  right: AsyncIterable<Buffer>,
  options: { kind: RowForm['kind']; onRows: (count: number) => void },
): AsyncGenerator<Buffer> {
  const { onRows } = options;
  const cutRow = options.kind === 'json' ? cutJsonRow : csvCutter(options.kind);
  const sides = [new KeyedRows(left, cutRow), new KeyedRows(right, cutRow)] as const;
  try {
    yield* merge(sides, onRows);
  } finally {
    // The reader may have left early, or one side may have failed: the other side still has a file open.
    await Promise.all(sides.map((side) => side.close()));
  }
}

async function* merge(
  sides: readonly [KeyedRows, KeyedRows],
  onRows: (count: number) => void,
): AsyncGenerator<Buffer> {
  let text = '';
  let count = 0;
  for (;;) {
    for (const side of sides) if (side.isEmpty) await side.fill();
    const [a, b] = [sides[0].head, sides[1].head];
    if (a === undefined && b === undefined) break;
    const isLeft = b === undefined || (a !== undefined && a.key <= b.key);
    if (a !== undefined && a.key === b?.key) sides[1].skip();
    const next = isLeft ? sides[0] : sides[1];
    text += next.head?.row ?? '';
    next.skip();
    count += 1;
    if (text.length < pieceLength) continue;
    yield Buffer.from(text, 'latin1');
    text = '';
  }
  onRows(count);
  if (text !== '') yield Buffer.from(text, 'latin1');
}

/** Finds the row that begins at `start` and where the next one begins; null when the row is not whole yet. */
type CutRow = (text: string, start: number) => (KeyedRow & { end: number }) | null;

/** Cuts a row whose first cell is the key. */
function csvCutter(kind: 'csv' | 'cells'): CutRow {
  const quote = kind === 'csv' ? '"' : cellQuote;
  return (text, start) => {
    const end = rowEnd(text, start, quote);
    if (end < 0) return null;
    const close = closingQuote(text, start, quote);
    const cell = text.slice(start + 1, close);
    const key = cell.includes(quote) ? cell.replaceAll(quote + quote, quote) : cell;
    return { key, row: text.slice(close + 2, end + 1), end: end + 1 };
  };
}

/** Cuts a line of JSON that follows its key. */
function cutJsonRow(text: string, start: number): ReturnType<CutRow> {
  const end = text.indexOf('\n', start);
  if (end < 0) return null;
  const close = text.indexOf(jsonDialect.keyEnd, start);
  return { key: text.slice(start, close), row: text.slice(close + 1, end + 1), end: end + 1 };
}

/** The rows of one side, in order. */
class KeyedRows {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #cutRow: CutRow;
  #rows: KeyedRow[] = [];
  #at = 0;
  #rest = '';
  #isEnded = false;

  constructor(pieces: AsyncIterable<Buffer>, cutRow: CutRow) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#cutRow = cutRow;
  }

  /** The next row; undefined at the end. Only valid when `isEmpty` is false. */
  get head(): KeyedRow | undefined {
    return this.#rows[this.#at];
  }

  /** Whether `fill` has to be called before `head` is valid. */
  get isEmpty(): boolean {
    return this.#at === this.#rows.length && !this.#isEnded;
  }

  skip(): void {
    this.#at += 1;
  }

  /** Reads on until there is at least one row, or the side has ended. */
  async fill(): Promise<void> {
    this.#rows = [];
    this.#at = 0;
    while (this.#rows.length === 0) {
      const { value, done } = await this.#pieces.next();
      if (done) {
        if (this.#rest !== '') throw new Error('the last row of a tier is not whole');
        this.#isEnded = true;
        return;
      }
      this.#read(this.#rest + value.toString('latin1'));
    }
  }

  /** Ends what the rows come from. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  #read(text: string): void {
    let start = 0;
    for (let cut = this.#cutRow(text, 0); cut !== null; cut = this.#cutRow(text, start)) {
      this.#rows.push(cut);
      start = cut.end;
    }
    this.#rest = text.slice(start);
  }
}
