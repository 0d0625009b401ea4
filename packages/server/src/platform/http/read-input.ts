import { isUtf8 } from 'node:buffer';
import type { TSchema } from 'typebox';
import { AppError, invalidInput } from '../../kernel/errors.ts';

/**
 * Query text to the object its schema checks: whole numbers and true/false become what they say where
 * the schema wants them; anything else stays text and fails its type. A repeated name is refused, and so is
 * what is not UTF-8: read as U+FFFD, it would ask for something else.
 */
export function parseQuery(search: string, schema: TSchema | undefined): Record<string, unknown> {
  const object: { properties?: Record<string, { type?: string }> } | undefined = schema;
  const properties = object?.properties;
  const query: Record<string, unknown> = Object.create(null);
  for (const part of search.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    if (name === null) throw invalidInput('?', 'a name is not UTF-8, percent-encoded');
    const value = decode(equals < 0 ? '' : part.slice(equals + 1));
    if (value === null) throw invalidInput(`?${name}`, 'must be UTF-8, percent-encoded');
    if (name in query) {
      throw invalidInput(`?${name}`, 'is given more than once', 'parameter_repeated');
    }
    query[name] = typed(value, properties?.[name]?.type);
  }
  return query;
}

/** Null when it is not UTF-8, percent-encoded. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function typed(value: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?(0|[1-9]\d{0,14})$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** A JSON body: its text, which JSON.parse bends, and its value. Throws 400 `json_invalid`, `request_invalid`. */
export function parseJson(body: Buffer): { text: string; value: unknown } {
  if (!isUtf8(body)) throw new AppError('json_invalid', { detail: 'The body is not UTF-8.' });
  const text = body.toString();
  try {
    const value: unknown = JSON.parse(text);
    refuseRepeatedFields(text);
    return { text, value };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('json_invalid', { detail: `The body is not JSON: ${String(error)}` });
  }
}

/**
 * Of two fields of one name JSON.parse takes the last and others the first. Looks at the fields of the body
 * itself, in text that is JSON; what lies deeper is the caller's own.
 */
function refuseRepeatedFields(text: string): void {
  const names = new Set<string>();
  let depth = 0;
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{' || character === '[') {
      depth += 1;
      isName = depth === 1 && character === '{';
    } else if (character === '}' || character === ']') depth -= 1;
    else if (character === ',') isName = depth === 1 && names.size > 0;
    else if (character === '"') {
      const end = endOfString(text, at);
      if (isName) {
        const name: string = JSON.parse(text.slice(at, end + 1));
        if (names.has(name)) {
          throw invalidInput(`/${name}`, 'is given more than once', 'field_repeated');
        }
        names.add(name);
        isName = false;
      }
      at = end;
    }
  }
}

/** Where the quote is that ends the string which begins here. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return end;
  }
}
