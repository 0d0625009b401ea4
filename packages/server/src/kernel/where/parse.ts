import { AppError } from '../errors.ts';
import { formatMicros, instantFault, parseInstant } from '../instant.ts';
import type { Check, ComparisonOf, PlaceOf, Sign, Vocabulary, WhereOf } from './where.ts';

/** The bounds of a `where`. The text stands in a URL, whose length is limited, too. */
export const whereLimits = {
  characters: 2000,
  /** How deep parentheses and `not` may be nested. */
  depth: 32,
  /** How many comparisons and `exists` there may be. Each may read all of an enrichment. */
  comparisons: 20,
  /** How many values there may be in all comparisons together. */
  values: 200,
  /** The largest exponent of a number, up and down. */
  exponent: 999_999,
} as const;

const space = /[ \t\r\n]*/y;
const word = /[\p{L}_][\p{L}\p{N}_-]*/uy;
const step = /[\p{L}\p{N}_-]+/uy;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]([+-]?\d+))?(?![\p{L}\p{N}_.+-])/uy;
const sign = /!=|<=|>=|=|<|>/y;
const keyword = /(?:and|or|not|in|exists|any|ilike|true|false|null)(?![\p{L}\p{N}_.-])/iuy;
/** What an error calls the thing that it has found. */
const found = /"[^"]{0,30}"?|[\p{L}\p{N}_.+-]{1,30}|[^ ]/uy;

const aValue = 'a value: a text in double quotes, a number, true, false or null';

/** A value as it is compared, and where it stands. */
type Value = {
  readonly type: 'text' | 'number' | 'time' | 'word';
  readonly text: string;
  readonly at: number;
};

/**
 * Reads a `where`, or a place. What it throws is 400 `request_invalid` with the fault `where_invalid` at `path`, whose `at`
 * is the position of the fault: 1 for the first character.
 */
export class WhereParser<Column extends string> {
  readonly #vocabulary: Vocabulary<Column>;
  readonly #text: string;
  readonly #path: string;
  readonly #wheres: number;
  #at = 0;
  #depth = 0;
  #comparisons = 0;
  #values = 0;

  /** `wheres`: how many there may be in the text, each as large as one may be. */
  constructor(vocabulary: Vocabulary<Column>, text: string, path: string, wheres = 1) {
    this.#vocabulary = vocabulary;
    this.#text = text;
    this.#path = path;
    this.#wheres = wheres;
  }

  read(): WhereOf<Column> {
    // What joins two is shorter than a hundred characters.
    if (this.#text.length > this.#wheres * whereLimits.characters + 100 * (this.#wheres - 1)) {
      throw this.#fault(
        whereLimits.characters,
        `it has at most ${whereLimits.characters} characters`,
      );
    }
    const where = this.#either();
    if (this.#at < this.#text.length) throw this.#expected('and, or, or the end');
    return where;
  }

  /** Reads a place alone, by which things are grouped: of columns only these. */
  readPlace(columns: readonly Column[]): PlaceOf<Column> {
    const of = this.#readPlace();
    if ('column' in of && !columns.includes(of.column)) {
      const { object } = this.#vocabulary;
      throw this.#fault(
        0,
        `${of.column} is a column by which nothing is grouped: ${columns.join(', ')} are, and keys of the ${object}`,
      );
    }
    if (this.#place() < this.#text.length) throw this.#expected('the end');
    return of;
  }

  #either(): WhereOf<Column> {
    return this.#series('or', () => this.#series('and', () => this.#term()));
  }

  #series(op: 'and' | 'or', readTerm: () => WhereOf<Column>): WhereOf<Column> {
    const first = readTerm();
    const terms = [first];
    while (this.#takeWord(op)) terms.push(readTerm());
    return terms.length === 1 ? first : { op, terms };
  }

  #term(): WhereOf<Column> {
    const start = this.#place();
    if (this.#takeWord('not')) return { op: 'not', term: this.#nested(start, () => this.#term()) };
    if (this.#take('(')) {
      const inner = this.#nested(start, () => this.#either());
      this.#close();
      return inner;
    }
    this.#comparisons += 1;
    if (this.#comparisons > this.#wheres * whereLimits.comparisons) {
      throw this.#fault(start, `there are at most ${whereLimits.comparisons} comparisons`);
    }
    if (this.#takeWord('exists')) {
      return { op: 'exists', of: this.#inParentheses() };
    }
    const isAny = this.#takeWord('any');
    const of = isAny ? this.#inParentheses() : this.#readPlace();
    if (isAny && 'column' in of) {
      throw this.#fault(start, `any(…) goes over an array, and ${of.column} is a column`);
    }
    return { op: 'compare', of, isAny, ...this.#readChecks(of) };
  }

  #nested(start: number, read: () => WhereOf<Column>): WhereOf<Column> {
    this.#depth += 1;
    if (this.#depth > whereLimits.depth + this.#wheres - 1) {
      throw this.#fault(start, `parentheses and not go at most ${whereLimits.depth} deep`);
    }
    const inner = read();
    this.#depth -= 1;
    return inner;
  }

  #inParentheses(): PlaceOf<Column> {
    if (!this.#take('(')) throw this.#expected('"("');
    const of = this.#readPlace();
    this.#close();
    return of;
  }

  #close(): void {
    if (!this.#take(')')) throw this.#expected('")"');
  }

  /** Reads the name of a column, or a path in the object. */
  #readPlace(): PlaceOf<Column> {
    const start = this.#place();
    if (this.#peek(keyword) !== null) throw this.#expected('a column or a key');
    const [first, ...rest] = this.#readSteps();
    const { object } = this.#vocabulary;
    if (first === object) {
      if (rest.length > 0) return { path: rest };
      throw this.#fault(start, `${object} is the whole object: say which key, as ${object}.score`);
    }
    if (!this.#isColumn(first)) return { path: [first, ...rest] };
    if (rest.length === 0) return { column: first };
    throw this.#fault(
      start,
      `${first} is a column and has no keys; a key of this name is ${object}.${first}`,
    );
  }

  #isColumn(name: string): name is Column {
    return Object.hasOwn(this.#vocabulary.columns, name);
  }

  #readSteps(): [string, ...string[]] {
    const steps: [string, ...string[]] = [this.#readStep(word)];
    while (this.#text[this.#at] === '.') {
      this.#at += 1;
      steps.push(this.#readStep(step));
    }
    return steps;
  }

  #readStep(bare: RegExp): string {
    if (this.#text[this.#at] === '"') return this.#readString();
    const name = this.#match(bare);
    if (name === null) throw this.#expected('a column or a key');
    return name;
  }

  #readChecks(of: PlaceOf<Column>): Pick<ComparisonOf<Column>, 'isNegated' | 'checks'> {
    if (this.#takeWord('ilike')) return { isNegated: false, checks: [this.#readLike(of)] };
    if (this.#takeWord('in')) {
      return { isNegated: false, checks: equalTo(this.#readList(of)) };
    }
    this.#place();
    const own = this.#match(sign);
    if (own === null) throw this.#expected('an operator: =, !=, <, <=, >, >=, in or ilike');
    const value = this.#readValue(of);
    if (own === '=' || own === '!=') return { isNegated: own === '!=', checks: equalTo([value]) };
    if (value.type === 'word') {
      throw this.#fault(
        value.at,
        `${own} compares texts and numbers: ${value.text} goes with = and !=`,
      );
    }
    return {
      isNegated: false,
      checks: [{ type: value.type, sign: own as Sign, values: [value.text] }],
    };
  }

  #readLike(of: PlaceOf<Column>): Check {
    const start = this.#place();
    if ('column' in of && this.#vocabulary.columns[of.column] !== 'text') {
      throw this.#fault(start, `ilike goes with texts, and ${of.column} is none`);
    }
    if (this.#text[start] !== '"') throw this.#expected('a pattern in double quotes');
    this.#count(start);
    const pattern = this.#readString();
    if (/^(?:[^\\]|\\.)*\\$/su.test(pattern)) {
      throw this.#fault(start, 'a backslash in a pattern goes before a character, as in \\%');
    }
    return { type: 'like', pattern };
  }

  #readList(of: PlaceOf<Column>): Value[] {
    if (!this.#take('(')) throw this.#expected('"(" and values');
    const values = [this.#readValue(of)];
    while (this.#take(',')) values.push(this.#readValue(of));
    if (!this.#take(')')) throw this.#expected('"," or ")"');
    return values;
  }

  /** Reads a value that is compared with what stands at a place. A column takes only values of its own type. */
  #readValue(of: PlaceOf<Column>): Value {
    const value = this.#readConstant();
    const { type, text, at } = value;
    this.#count(at);
    if (!('column' in of)) return value;
    const { column } = of;
    const wanted = this.#vocabulary.columns[column];
    if (text === 'null' && type === 'word') {
      throw this.#fault(at, `a column is never null, but may be missing: not exists(${column})`);
    }
    if (type !== (wanted === 'number' ? 'number' : 'text')) {
      throw this.#fault(
        at,
        `${column} is compared with ${wanted === 'number' ? 'numbers' : 'texts in double quotes'}`,
      );
    }
    if (wanted !== 'time') return value;
    const micros = parseInstant(text);
    if (micros === null) {
      throw this.#fault(
        at,
        `${column} is compared with times such as "2026-03-05T14:07:09Z": ${instantFault(text)}`,
      );
    }
    return { type: 'time', text: formatMicros(micros), at };
  }

  #readConstant(): Value {
    const at = this.#place();
    if (this.#text[at] === '"') return { type: 'text', text: this.#readString(), at };
    const named = this.#peek(keyword)?.[0].toLowerCase();
    if (named === 'true' || named === 'false' || named === 'null') {
      this.#at += named.length;
      return { type: 'word', text: named, at };
    }
    const spelled = this.#peek(number);
    if (spelled === null) throw this.#expected(aValue);
    const [text, exponent = '0'] = spelled;
    if (Math.abs(Number(exponent)) > whereLimits.exponent) {
      throw this.#fault(at, `an exponent is at most ${whereLimits.exponent}, up or down`);
    }
    this.#at += text.length;
    return { type: 'number', text, at };
  }

  #readString(): string {
    const at = this.#at;
    const text = this.#match(string);
    if (text === null) throw this.#fault(at, 'expected a text as JSON writes it, with its end');
    const value = JSON.parse(text) as string;
    if (value.includes('\0') || /\p{Surrogate}/u.test(value)) {
      throw this.#fault(at, 'no text has the character U+0000 or half a surrogate pair');
    }
    return value;
  }

  #count(at: number): void {
    this.#values += 1;
    if (this.#values > this.#wheres * whereLimits.values) {
      throw this.#fault(at, `there are at most ${whereLimits.values} values`);
    }
  }

  /** Skips white space and returns the offset of what follows. */
  #place(): number {
    this.#match(space);
    return this.#at;
  }

  #peek(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  #match(pattern: RegExp): string | null {
    const text = this.#peek(pattern)?.[0] ?? null;
    this.#at += text?.length ?? 0;
    return text;
  }

  #take(sign: string): boolean {
    const isNext = this.#text[this.#place()] === sign;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #takeWord(name: string): boolean {
    this.#place();
    const next = this.#peek(keyword)?.[0];
    if (next?.toLowerCase() !== name) return false;
    this.#at += name.length;
    return true;
  }

  #expected(what: string): AppError {
    const at = this.#place();
    const next = this.#peek(found)?.[0];
    return this.#fault(at, `expected ${what}, found ${next ?? 'the end'}`);
  }

  #fault(offset: number, message: string): AppError {
    const at = [...this.#text.slice(0, offset)].length + 1;
    const text = `at character ${at}: ${message}`;
    return new AppError('request_invalid', {
      detail: `${this.#path.slice(1)}, ${text}`,
      errors: [{ path: this.#path, code: 'where_invalid', message: text, at }],
    });
  }
}

/** One check for each type that is among the values. */
function equalTo(values: readonly Value[]): Check[] {
  const checks = new Map<Value['type'], [string, ...string[]]>();
  for (const { type, text } of values) {
    const same = checks.get(type);
    if (same === undefined) checks.set(type, [text]);
    else same.push(text);
  }
  return [...checks].map(([type, texts]) =>
    type === 'word' ? { type, values: texts } : { type, sign: '=', values: texts },
  );
}
