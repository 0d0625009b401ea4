import { JsonItems } from '../../kernel/json-items.ts';
import { numberWarning } from '../../records/index.ts';
import {
  exportColumns,
  type FieldColumn,
  type FieldType,
  type NamedField,
  restColumn,
} from '../values.ts';
import { decimalDigits, isBigint, mostDigits } from './fit-number.ts';

/** So many columns are made of scalars, those inside structs and lists included: of the fields that most records have. */
const mostColumns = 1_000;
/** So many fields are told apart in a sample: enrichments with ids as names have any number. */
const mostFields = 20_000;
const longestName = 200;
const deepest = 8;

const kinds = ['struct', 'list', 'string', 'number', 'boolean'] as const;
type Kind = (typeof kinds)[number];

/** What values were seen in a field. */
type Seen = {
  readonly counts: Map<Kind, number>;
  readonly numbers: { areBigints: boolean; areDoubles: boolean; whole: number; scale: number };
  readonly members: Map<string, Seen>;
  elements: Seen | null;
};

/**
 * Infers columns from enrichments. A field has the type that most of its values have, and makes no column if all are
 * null, empty, or mixed arrays. `left_out` counts the scalar fields that are in none.
 */
export class ColumnInference {
  readonly #root = newSeen();
  #fields = 0;
  #untold = 0;

  add(enrichment: string): void {
    this.#see(this.#root, enrichment, 0, 0);
  }

  columns(): { columns: FieldColumn[]; left_out: number } {
    const leaves = [...leavesOf(this.#root)];
    const kept = new Set(leaves.toSorted((a, b) => weight(b) - weight(a)).slice(0, mostColumns));
    const taken = new Set([...exportColumns, restColumn].map((name) => name.toLowerCase()));
    const columns: FieldColumn[] = [];
    for (const { name: field, type } of toMembers(this.#root, kept)) {
      // A field may be called like a column of ours.
      const name = taken.has(field.toLowerCase()) ? `enrichment.${field}` : field;
      if (taken.has(name.toLowerCase())) continue;
      taken.add(name.toLowerCase());
      columns.push({ name, field, type });
    }
    const made = columns.reduce((sum, { type }) => sum + leafCount(type), 0);
    return { columns, left_out: leaves.length - made + this.#untold };
  }

  #see(seen: Seen, text: string, start: number, depth: number): void {
    const kind = kindAt(text, start);
    if (kind === null) return;
    seen.counts.set(kind, (seen.counts.get(kind) ?? 0) + 1);
    if (kind === 'number') {
      const items = /[-+.\deE]+/y;
      items.lastIndex = start;
      seeNumber(seen.numbers, items.exec(text)?.[0] ?? '');
    }
    if ((kind !== 'list' && kind !== 'struct') || depth === deepest) return;
    if (kind === 'list') seen.elements = seen.elements ?? newSeen();
    for (const items = new JsonItems(text, start); items.next(); ) {
      const inner = kind === 'list' ? seen.elements : this.#member(seen, items);
      if (inner !== null) this.#see(inner, text, items.start, depth + 1);
    }
  }

  #member({ members }: Seen, items: JsonItems): Seen | null {
    const name = items.name ?? '';
    const known = members.get(name);
    if (known !== undefined) return known;
    if (name === '' || name.length > longestName || this.#fields >= mostFields) {
      this.#untold = Math.max(1, this.#untold);
      return null;
    }
    const made = newSeen();
    members.set(name, made);
    this.#fields += 1;
    return made;
  }
}

function newSeen(): Seen {
  return {
    counts: new Map(),
    numbers: { areBigints: true, areDoubles: true, whole: 0, scale: 0 },
    members: new Map(),
    elements: null,
  };
}

const kindsByFirst: Readonly<Record<string, Kind | null>> = {
  '{': 'struct',
  '[': 'list',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: null,
};

function kindAt(text: string, start: number): Kind | null {
  const kind = kindsByFirst[text[start] ?? ''];
  return kind === undefined ? 'number' : kind;
}

function seeNumber(numbers: Seen['numbers'], text: string): void {
  numbers.areBigints &&= isBigint(text);
  numbers.areDoubles &&= numberWarning(text) === null;
  const digits = decimalDigits(text);
  numbers.whole = Math.max(numbers.whole, digits?.whole ?? mostDigits + 1);
  numbers.scale = Math.max(numbers.scale, digits?.scale ?? 0);
}

/** The kind that most values have; null if there are none. */
function mainKind({ counts }: Seen): Kind | null {
  const countOf = (kind: Kind) => counts.get(kind) ?? 0;
  const [first = 'struct'] = kinds.toSorted((a, b) => countOf(b) - countOf(a));
  return countOf(first) === 0 ? null : first;
}

/** The members by name, so that samples in which these stand in another order make the same columns. */
function membersOf({ members }: Seen): [string, Seen][] {
  return [...members].sort(([a], [b]) => (a < b ? -1 : 1));
}

function weight({ counts }: Seen): number {
  return Math.max(...counts.values());
}

/** The fields that are no structs, and of lists the elements. */
function* leavesOf(seen: Seen): Generator<Seen> {
  const kind = mainKind(seen);
  if (kind === 'struct') for (const [, member] of membersOf(seen)) yield* leavesOf(member);
  else if (kind === 'list') yield* seen.elements === null ? [] : leavesOf(seen.elements);
  else if (kind !== null) yield seen;
}

function toMembers(seen: Seen, kept: ReadonlySet<Seen>): NamedField[] {
  const taken = new Set<string>();
  return membersOf(seen).flatMap(([name, member]) => {
    const type = toType(member, kept);
    // DuckDB and Spark tell no names apart that differ only in case.
    const key = name.toLowerCase();
    if (type === null || taken.has(key)) return [];
    taken.add(key);
    return [{ name, type }];
  });
}

function toType(seen: Seen, kept: ReadonlySet<Seen>): FieldType | null {
  switch (mainKind(seen)) {
    case null:
      return null;
    case 'struct': {
      const struct = toMembers(seen, kept);
      return struct.length === 0 ? null : { struct };
    }
    case 'list': {
      const isMixed = (seen.elements?.counts.size ?? 0) > 1;
      const list = seen.elements === null || isMixed ? null : toType(seen.elements, kept);
      return list === null ? null : { list };
    }
    case 'number':
      return kept.has(seen) ? numberType(seen.numbers) : null;
    case 'string':
    case 'boolean':
      return kept.has(seen) ? (mainKind(seen) as 'string' | 'boolean') : null;
  }
}

function numberType({ areBigints, areDoubles, whole, scale }: Seen['numbers']): FieldType {
  if (areBigints) return 'bigint';
  if (areDoubles || whole + scale > mostDigits) return 'double';
  return { decimal: scale };
}

function leafCount(type: FieldType): number {
  if (typeof type === 'string' || 'decimal' in type) return 1;
  if ('list' in type) return leafCount(type.list);
  return type.struct.reduce((sum, member) => sum + leafCount(member.type), 0);
}
