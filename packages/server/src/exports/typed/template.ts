import { invalidInput } from '../../kernel/errors.ts';
import type { Cell } from '../encode/csv-cells.ts';
import { pickJson } from '../encode/re-encode.ts';
import { isOwnColumn, jsonKindOf } from '../encode/rows.ts';
import type { ExportColumn, TemplateName } from '../values.ts';

/** The templates that have a name. */
const namedTemplates: Readonly<Record<TemplateName, object>> = {
  'openai-chat': {
    messages: [
      { role: 'user', content: '{{prompt}}' },
      { role: 'assistant', content: '{{completion}}' },
    ],
  },
  'openai-messages': { messages: '{{messages|json}}' },
  'prompt-completion': { prompt: '{{prompt}}', completion: '{{completion}}' },
};

const bounds = { characters: 64 * 1024, references: 200 };

/** What a reference names: a column of records, or a path in the enrichment, which is empty for the whole of it. */
type Place = { readonly column: ExportColumn } | { readonly path: readonly string[] };

type Reference = {
  /** As the template spells it. */
  readonly name: string;
  readonly place: Place;
  readonly isJson: boolean;
  /** Whether it stands for a value, and not for characters of a text. */
  readonly isValue: boolean;
};

export type Template = {
  /** The columns that the tiers have to read. */
  readonly source: readonly ExportColumn[];
  /** A line without its end; or the name of a reference that the record has no value for. */
  readonly fill: (cells: readonly Cell[]) => { line: string } | { missing: string };
};

/** Reads a template: a JSON object whose texts may have references. Throws 400 `request_invalid`. */
export function readTemplate(template: TemplateName | object): Template {
  const object = typeof template === 'string' ? namedTemplates[template] : template;
  const text = JSON.stringify(object);
  if (text.length > bounds.characters) {
    throw fault(`a template has at most ${bounds.characters} characters`);
  }
  const pieces = [...piecesOf(text)];
  const references = pieces.filter((piece) => typeof piece !== 'string');
  if (references.length === 0) throw fault('it has no reference such as {{prompt}}');
  if (references.length > bounds.references) {
    throw fault(`it has at most ${bounds.references} references`);
  }
  const columns = references.map(({ place }) => ('column' in place ? place.column : 'enrichment'));
  const source = [...new Set(columns)];
  return {
    source,
    fill(cells) {
      let line = '';
      for (const piece of pieces) {
        const filled = typeof piece === 'string' ? piece : fillingOf(piece, cells, source);
        if (filled === null) return { missing: (piece as Reference).name };
        line += filled;
      }
      return { line };
    },
  };
}

const string = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** Finds where references stand in a text, each from its `index` up to its `end`. */
function* referencesIn(value: string): Generator<{ index: number; end: number; inside: string }> {
  for (let index = value.indexOf('{{'); index >= 0; ) {
    const close = value.indexOf('}}', index + 2);
    if (close < 0) throw fault('a {{ has no end: }}');
    yield { index, end: close + 2, inside: value.slice(index + 2, close) };
    index = value.indexOf('{{', close + 2);
  }
}

/** The text of a template, cut into what stays and its references. Keys stay. */
function* piecesOf(text: string): Generator<string | Reference> {
  let at = 0;
  for (const { 0: token, 1: colon, index } of text.matchAll(string)) {
    if (colon !== undefined || !token.includes('{{')) continue;
    const value = JSON.parse(token) as string;
    const found = [...referencesIn(value)];
    const [only] = found;
    const isAlone = only?.index === 0 && only.end === value.length;
    const whole = isAlone ? readReference(only.inside, true) : null;
    yield text.slice(at, index);
    at = index + token.length;
    if (whole?.isJson) {
      yield whole;
      continue;
    }
    yield '"';
    let from = 0;
    for (const one of found) {
      yield escaped(value.slice(from, one.index));
      yield readReference(one.inside, false);
      from = one.end;
    }
    yield `${escaped(value.slice(from))}"`;
  }
  yield text.slice(at);
}

const step = /^\s*([\p{L}\p{N}_-]+|"(?:[^"\\]|\\.)*")\s*(\.|$)/u;

function readReference(text: string, isValue: boolean): Reference {
  const [, before = '', filter] = /^(.*?)(?:\|([^|"]*))?$/s.exec(text) ?? [];
  if (filter !== undefined && filter.trim() !== 'json') {
    throw fault(`{{${text}}}: after | stands json`);
  }
  const steps: string[] = [];
  for (let rest = before; ; ) {
    const [token, spelled = '', dot] = step.exec(rest) ?? [];
    if (token === undefined) {
      throw fault(`{{${text}}} is no path: keys with dots between them, as origin.iata or "a.b".c`);
    }
    steps.push(spelled.startsWith('"') ? parseKey(spelled, text) : spelled);
    rest = rest.slice(token.length);
    if (dot !== '.') break;
  }
  const [first = '', ...others] = steps;
  const isJson = filter !== undefined;
  const name = before.trim();
  if (first === 'enrichment') return { name, place: { path: others }, isJson, isValue };
  if (!isOwnColumn(first)) return { name, place: { path: steps }, isJson, isValue };
  if (others.length === 0) return { name, place: { column: first }, isJson, isValue };
  throw fault(
    `${first} is a column and has no keys; a key of this name is {{enrichment.${before.trim()}}}`,
  );
}

function parseKey(spelled: string, text: string): string {
  try {
    return JSON.parse(spelled) as string;
  } catch {
    throw fault(`{{${text}}}: ${spelled} is not a text as JSON writes it`);
  }
}

/** What a reference stands for, as it goes into the line; null when the record has no value there, or null. */
function fillingOf(
  { place, isJson, isValue }: Reference,
  cells: readonly Cell[],
  source: readonly ExportColumn[],
): string | null {
  const column = 'column' in place ? place.column : 'enrichment';
  const cell = cells[source.indexOf(column)] ?? null;
  if (cell === null) return null;
  const json =
    'path' in place
      ? (pickJson(cell.text, place.path)?.text ?? null)
      : jsonKindOf(place.column) === 'raw'
        ? cell.text
        : JSON.stringify(cell.text);
  if (json === null || (isJson && isValue)) return json;
  // Inside a text JSON has the escapes of a text already.
  if (!isJson && json.startsWith('"')) return json.slice(1, -1);
  return escaped(json);
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function fault(message: string) {
  return invalidInput('/template', message);
}
