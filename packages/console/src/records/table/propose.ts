import type { Field } from '../../api/types.ts';
import { formatShare } from '../../ui/format.ts';
import { cutAt, shortNumber } from '../facts/field-words.ts';

/** What may be written at the caret of a `where`: in place of the characters from … to. */
type Proposals = {
  readonly from: number;
  readonly to: number;
  readonly options: readonly Proposal[];
};
type Proposal = { readonly text: string; readonly note: string };

const mostShown = 8;
const columns = ['kind', 'source', 'model', 'confidence', 'store', 'event_id', 'occurred_at'];
const others = ['recorded_at', 'bytes', 'tenant'];
/** Names that mean something else where a key stands alone; `enrichment.` in front reaches the key. */
const reserved = /^(and|or|not|in|exists|any|ilike|true|false|null|\d.*|enrichment)$/i;

/** A name, a path, a text or a number, then signs. A text that is being written has no end. */
const tokens = /(?:"(?:[^"\\]|\\.)*(?:"|$)|[\p{L}\p{N}_.+-])+|[!<>]=|[=<>(),]/gsu;
const isSign = (token: string) => /^[!<>=(),]/.test(token);

/** What is expected, by the grammar of docs/where.md. */
type Expected = 'place' | 'sign' | 'value' | 'list' | 'next';

/** Returns what may be written at the caret, by the fields that the records have. */
export function proposalsAt(text: string, caret: number, fields: readonly Field[]): Proposals {
  const before = text.slice(0, caret);
  const read = before.match(tokens) ?? [];
  const last = read.at(-1) ?? '';
  const typed = before.endsWith(last) && !isSign(last) ? last : '';
  const { expected, place, call, isList } = readWords(typed === '' ? read : read.slice(0, -1));
  const rest = typed === '' ? '' : (/^[\p{L}\p{N}_.+-]*"?/u.exec(text.slice(caret))?.[0] ?? '');
  const all = {
    place: () => places(fields, call),
    sign: () => signs,
    value: () => values(fields, place),
    list: () => [{ text: ',', note: 'one more' }, end],
    next: () => words,
  }[expected]();
  const fitting = narrow(all, typed).slice(0, mostShown);
  const isOneOfMany = expected === 'value' && isList;
  const options = fitting.map(({ text: own, note }) => ({
    text: isOneOfMany || own.endsWith('(') ? own : `${own} `,
    note,
  }));
  return { from: caret - typed.length, to: caret + rest.length, options };
}

const end: Proposal = { text: ')', note: 'the end' };
const words: readonly Proposal[] = [
  { text: 'and', note: 'both hold' },
  { text: 'or', note: 'one holds' },
];
const signs: readonly Proposal[] = [
  { text: '=', note: 'is' },
  { text: '!=', note: 'is there, and is not' },
  { text: '>=', note: 'at least' },
  { text: '<=', note: 'at most' },
  { text: 'in (', note: 'is one of' },
  { text: 'ilike', note: 'is like "%text%"' },
];

/** Reads the words before the one that is being written. */
function readWords(read: readonly string[]) {
  let expected: Expected = 'place';
  let [place, call, isList] = ['', '', false];
  for (const token of read) {
    const word = token.toLowerCase();
    if (expected === 'place') {
      if (word === 'exists' || word === 'any') call = word;
      else if (word !== 'not' && word !== '(') [place, expected] = [token, 'sign'];
    } else if (expected === 'sign') {
      if (word === ')') {
        if (call === 'any') place = `${place}[]`;
        if (call === 'exists') expected = 'next';
        call = '';
      } else [expected, isList] = ['value', word === 'in'];
    } else if (expected === 'value') {
      if (word !== '(') expected = isList ? 'list' : 'next';
    } else if (expected === 'list') expected = word === ',' ? 'value' : 'next';
    else if (word !== ')') expected = 'place';
  }
  return { expected, place, call, isList };
}

/** The columns and the fields that can be asked for; of elements of arrays only those that are values. */
function places(fields: readonly Field[], call: string): Proposal[] {
  const own = fields
    .filter(({ of, name }) => of === 'enrichment' && /^[^[]*(\[\])?$/.test(name))
    .filter(({ name }) => call !== 'any' || name.endsWith('[]'))
    .map((field) => ({ text: placeOf(field, call), note: formatShare(field.present.share) }));
  const called = (name: string) => ({ text: call === '' ? name : `${name})`, note: 'column' });
  return [...own, ...(call === 'any' ? [] : [...columns, ...others].map(called))];
}

function placeOf({ name }: Field, call: string): string {
  const path = name.replace(/\[\]$/, '');
  const [first = ''] = path.split('.');
  const isTaken = reserved.test(first) || [...columns, ...others].includes(path);
  const place = isTaken ? `enrichment.${path}` : path;
  if (call !== '') return `${place})`;
  return path === name ? place : `any(${place})`;
}

/** The values of a field that were seen, or numbers that tell how they lie. */
function values(fields: readonly Field[], place: string): Proposal[] {
  const path = place.replace(/^enrichment\./i, '');
  const isColumn = path === place && columns.includes(place);
  const field = fields.find(
    ({ of, name }) => name === path && of === (isColumn ? 'record' : 'enrichment'),
  );
  const seen = (field?.values ?? [])
    .filter(({ value }) => typeof value !== 'string' || value.length < cutAt)
    .map(({ value, share }) => ({ text: JSON.stringify(value), note: formatShare(share) }));
  if (seen.length > 0 || !field?.numbers) return seen;
  return field.numbers.quantiles.map(({ percent, value }) => ({
    text: shortNumber(value),
    note: `${percent} % are less`,
  }));
}

/** Those that begin so, then those that have it within, without the one that is written already. */
function narrow(all: readonly Proposal[], typed: string): readonly Proposal[] {
  const sought = typed.toLowerCase().replace(/^"/, '');
  const places = all.map(({ text }) => text.toLowerCase().replace(/^"/, '').indexOf(sought));
  const found = [...all.keys()].filter((n) => places[n] !== -1 && all[n]?.text !== typed);
  const sorted = found.sort((a, b) => Math.sign(places[a] ?? 0) - Math.sign(places[b] ?? 0));
  return sorted.flatMap((n) => all[n] ?? []);
}
