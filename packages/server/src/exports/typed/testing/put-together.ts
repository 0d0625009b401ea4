import { elementsOf, membersOf } from '../../../kernel/json-items.ts';
import { type FieldColumn, restColumn } from '../../values.ts';

/** Puts a record together again out of a row of typed Parquet, both as JSON text. */
export function putTogether(
  row: string,
  columns: readonly FieldColumn[],
): { enrichment: string; confidence: string | null } {
  const cells = membersOf(row);
  const restCell = cells.get(restColumn) ?? 'null';
  const rest = restCell === 'null' ? new Map() : membersOf(JSON.parse(restCell) as string);
  const own = new Map<string, string>();
  for (const { name, field } of columns) {
    const text = cells.get(name) ?? 'null';
    if (text !== 'null') own.set(field, withoutNulls(text));
  }
  const confidence = rest.get('confidence') ?? cells.get('confidence') ?? 'null';
  return {
    enrichment: merge(textOf(own), rest.get('enrichment') ?? '{}'),
    confidence: confidence === 'null' ? null : confidence,
  };
}

/** Members without a value are none. The elements of a list are all there are. */
function withoutNulls(text: string): string {
  if (text[0] !== '{') return text[0] === '[' ? inList(text) : text;
  const members = [...membersOf(text)].filter(([, value]) => value !== 'null');
  return textOf(new Map(members.map(([name, value]) => [name, withoutNulls(value)])));
}

function inList(text: string): string {
  return `[${elementsOf(text).map(withoutNulls).join(',')}]`;
}

/** Both objects in one. What the second one says goes first, unless both say objects. */
function merge(own: string, rest: string): string {
  if (own[0] !== '{' || rest[0] !== '{') return rest;
  const members = membersOf(own);
  for (const [name, value] of membersOf(rest)) {
    const before = members.get(name);
    members.set(name, before === undefined ? value : merge(before, value));
  }
  return textOf(members);
}

function textOf(members: ReadonlyMap<string, string>): string {
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}
