import { JsonItems } from '../../kernel/json-items.ts';
import { numberWarning } from '../../records/index.ts';
import type { FieldColumn, FieldType } from '../values.ts';
import { decimalDigits, isBigint, mostDigits } from './fit-number.ts';

/**
 * A value taken apart: what its type holds, as JSON for a cast, and the rest as spelled. A null is always rest; `isOdd`
 * says whether the rest has anything else.
 */
type Parts = {
  readonly fitting: string | null;
  readonly rest: string | null;
  readonly isOdd: boolean;
};

/** Makes what takes enrichments apart into columns. `onMisfit` hears of fields with a value that fits no column. */
export function createTaker(
  columns: readonly FieldColumn[],
  onMisfit: (field: string) => void,
): (enrichment: string) => Parts & { fitting: string } {
  const struct = columns.map(({ name, field, type }) => ({ key: name, name: field, type }));
  const take = structTaker(struct, onMisfit);
  return (enrichment) => {
    const parts = take(enrichment, 0, enrichment);
    return { ...parts, fitting: parts.fitting ?? '{}' };
  };
}

/** Takes the value apart that begins at `start`, and is spelled so. */
type Take = (text: string, start: number, value: string) => Parts;

function takerOf(type: FieldType): Take {
  if (typeof type !== 'string' && 'struct' in type) {
    const take = structTaker(type.struct.map((member) => ({ ...member, key: member.name })));
    return (text, start, value) => (value[0] === '{' ? take(text, start, value) : misfit(value));
  }
  if (typeof type !== 'string' && 'list' in type) return listTaker(takerOf(type.list));
  return (_text, _start, value) => {
    const fitting = scalarOf(value, type);
    return fitting === null ? misfit(value) : { fitting, rest: null, isOdd: false };
  };
}

function misfit(rest: string): Parts {
  return { fitting: null, rest, isOdd: rest !== 'null' };
}

/** A list fits as a whole or not at all. Its elements may be null. */
function listTaker(take: Take): Take {
  return (text, start, value) => {
    if (value[0] !== '[') return misfit(value);
    const elements: string[] = [];
    for (const items = new JsonItems(text, start); items.next(); ) {
      const element = items.value;
      const { fitting, rest } =
        element === 'null' ? { fitting: element, rest: null } : take(text, items.start, element);
      if (fitting === null || rest !== null) return misfit(value);
      elements.push(fitting);
    }
    return { fitting: `[${elements.join(',')}]`, rest: null, isOdd: false };
  };
}

/**
 * A struct takes the members that fit; the others are its rest. All of its members are written: the cast demands them.
 * Where these are there and fit as they are spelled, which most are, nothing is put together.
 */
function structTaker(
  struct: readonly { key: string; name: string; type: FieldType }[],
  onMisfit?: (name: string) => void,
): Take {
  const members = new Map(
    struct.map(({ name, type }, at) => [name, { at, type, take: takerOf(type) }]),
  );
  const keys = struct.map(({ key }) => `${JSON.stringify(key)}:`);
  const isNamedSo = struct.every(({ key, name }) => key === name);
  return (text, start, whole) => {
    const fitting = new Array<string>(keys.length).fill('null');
    let [seen, asSpelled] = [0, 0];
    let rest = '';
    let isOdd = false;
    for (const items = new JsonItems(text, start); items.next(); ) {
      const name = items.name ?? '';
      const { value } = items;
      seen += 1;
      const member = members.get(name);
      const parts =
        member === undefined || value === 'null'
          ? misfit(value)
          : member.take(text, items.start, value);
      if (parts.fitting === value) asSpelled += 1;
      if (member !== undefined && parts.fitting !== null) fitting[member.at] = parts.fitting;
      if (parts.rest === null) continue;
      isOdd ||= parts.isOdd;
      if (member !== undefined && parts.isOdd) onMisfit?.(name);
      rest += `${rest === '' ? '' : ','}${JSON.stringify(name)}:${parts.rest}`;
    }
    // As many as there are, and none is missing: so none is there twice.
    const isWhole = seen === keys.length && asSpelled === seen && !fitting.includes('null');
    if (isNamedSo && rest === '' && isWhole) return { fitting: whole, rest: null, isOdd: false };
    return {
      fitting: `{${keys.map((key, at) => key + fitting[at]).join(',')}}`,
      rest: rest === '' ? null : `{${rest}}`,
      isOdd,
    };
  };
}

/** A scalar as JSON text that DuckDB casts to the type without loss; null when it does not fit. */
function scalarOf(
  value: string,
  type: Exclude<FieldType, { list: unknown } | { struct: unknown }>,
): string | null {
  const first = value[0] ?? '';
  const isNumber = first === '-' || (first >= '0' && first <= '9');
  switch (type) {
    case 'boolean':
      return first === 't' || first === 'f' ? value : null;
    case 'string':
      return first === '"' ? value : null;
    case 'bigint':
      return isNumber && isBigint(value) ? value : null;
    case 'double':
      return isNumber && numberWarning(value) === null ? value : null;
    default: {
      const digits = isNumber ? decimalDigits(value) : null;
      const fits =
        digits !== null &&
        digits.scale <= type.decimal &&
        digits.whole <= mostDigits - type.decimal;
      // DuckDB would make a double of a number; of a string it makes the decimal directly.
      return fits ? `"${value}"` : null;
    }
  }
}
