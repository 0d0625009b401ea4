import type { ValueType } from '../values.ts';
import type { Sample } from './read-sample.ts';

/** Stands for an object or an array, whose members are fields of their own. */
export const container = { object: Symbol('object'), array: Symbol('array') } as const;
export type FieldValue = string | number | boolean | null | symbol;

/** What the records have in one field: the value at `values[n]` is one of the record number `rows[n]`. */
export type FieldColumn = {
  readonly name: string;
  readonly of: 'record' | 'enrichment';
  readonly rows: number[];
  readonly values: FieldValue[];
};

/** Records of a sample by their fields. */
export type Collected = {
  /** Of each record the place in which it was looked for, and its month. */
  readonly places: number[];
  readonly months: string[];
  readonly columns: Map<string, FieldColumn>;
  /** The same of enrichments as they are nested: so no name is put together for each value of each record. */
  readonly enrichment: Place;
  /** Records whose enrichment was not read. */
  unread: number;
  /** Fields beyond those that are told apart, at least. */
  leftOff: number;
};

/** Where values stand in enrichments: a field, the members of its objects by their keys, and the elements of its arrays. */
type Place = {
  readonly column: FieldColumn | null;
  readonly depth: number;
  readonly members: Map<string, Place>;
  elements: Place | undefined;
};

/** Names are told apart up to this number, length and depth; enrichments with ids as names have any number. */
const mostColumns = 500;
const longestName = 200;
const deepest = 8;
/** So many elements of an array are looked at. */
const mostElements = 50;
const longestText = 200;

const labels = ['kind', 'source', 'model', 'confidence'] as const;

export function emptyCollection(): Collected {
  const columns = labels.map((name) => ({ name, of: 'record' as const, rows: [], values: [] }));
  return {
    columns: new Map(columns.map((column) => [columnKey(column), column])),
    enrichment: { column: null, depth: 0, members: new Map(), elements: undefined },
    places: [],
    months: [],
    unread: 0,
    leftOff: 0,
  };
}

/** Adds the fields of records. Those whose enrichment was not read count as `unread`, and are left out. */
export function collect(to: Collected, records: Sample['records']): void {
  for (const record of records) {
    if (record.enrichment === null) {
      to.unread += 1;
      continue;
    }
    const row = to.places.push(record.place) - 1;
    to.months.push(record.day.slice(0, 7));
    for (const name of labels) {
      const [value, column] = [record[name], to.columns.get(columnKey({ name, of: 'record' }))];
      if (value === null || column === undefined) continue;
      note(column, row, name === 'confidence' ? Number(value) : value);
    }
    const enrichment: unknown = JSON.parse(record.enrichment);
    walk(to, to.enrichment, enrichment);
  }
}

/** Notes a value of the last record, and what is in it. */
function walk(to: Collected, at: Place, value: unknown): void {
  const { column, depth } = at;
  if (column !== null) note(column, to.places.length - 1, toValue(value));
  if (typeof value !== 'object' || value === null || depth === deepest) return;
  if (Array.isArray(value)) {
    for (const element of value.slice(0, mostElements)) {
      at.elements ??= addPlace(to, at, '[]');
      if (at.elements === undefined) break;
      walk(to, at.elements, element);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    let place = at.members.get(key);
    if (place === undefined) {
      const step = column === null ? stepOf(key, /^[\p{L}_]/u) : `.${stepOf(key)}`;
      place = addPlace(to, at, step);
      if (place === undefined) continue;
      at.members.set(key, place);
    }
    walk(to, place, (value as Record<string, unknown>)[key]);
  }
}

/** Adds a field; of one that is left off, undefined. */
function addPlace(to: Collected, at: Place, step: string): Place | undefined {
  const name = `${at.column?.name ?? ''}${step}`;
  if (to.columns.size >= mostColumns || name.length > longestName) {
    to.leftOff = Math.max(to.leftOff, 1);
    return undefined;
  }
  const column: FieldColumn = { name, of: 'enrichment', rows: [], values: [] };
  to.columns.set(columnKey(column), column);
  return { column, depth: at.depth + 1, members: new Map(), elements: undefined };
}

/** A key as a step of a name: in quotes where it has other characters than a word, so that it is told from others. */
function stepOf(key: string, first = /^/): string {
  return /^[\p{L}\p{N}_-]+$/u.test(key) && first.test(key) ? key : JSON.stringify(key);
}

function toValue(value: unknown): FieldValue {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? container.array : container.object;
  }
  if (typeof value !== 'string') return value as number | boolean | null;
  if (value.length <= longestText) return value;
  return `${value.slice(0, longestText).replace(/[\ud800-\udbff]$/, '')}…`;
}

function note({ rows, values }: FieldColumn, row: number, value: FieldValue): void {
  rows.push(row);
  values.push(value);
}

export function columnKey({ name, of }: Pick<FieldColumn, 'name' | 'of'>): string {
  return `${of}/${name}`;
}

/** Returns the type of a value; null for null. */
export function typeOf(value: FieldValue): ValueType | null {
  if (value === null) return null;
  if (typeof value === 'symbol') return value === container.array ? 'array' : 'object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'number' : 'boolean';
}

/** Whether a field says anything itself. Where it only holds others, these do; a label that no record has says nothing. */
export function isTelling({ name, values }: FieldColumn, all: readonly FieldColumn[]): boolean {
  if (values.some((value) => typeof value !== 'symbol')) return true;
  const isInside = (other: FieldColumn) => /^(\.|\[\])/.test(other.name.slice(name.length));
  return values.length > 0 && !all.some((other) => other.name.startsWith(name) && isInside(other));
}
