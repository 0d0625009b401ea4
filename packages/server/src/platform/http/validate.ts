import { isUtf8 } from 'node:buffer';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { AppError, type InputFault, invalidInput } from '../../kernel/errors.ts';
import { repeatedName } from '../../kernel/json-slices.ts';
import { fits } from './schemas.contract.ts';

/**
 * Turns the query of a URL into the object that its schema checks. Whole numbers and true/false become values where the
 * schema wants them; anything else stays text and fails the check of its type. Throws 400 `request_invalid` for a
 * repeated name, and for what is not UTF-8: decoded to U+FFFD it would ask for something else.
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

/** Returns the decoded text; null when it is not percent-encoded UTF-8. */
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

/**
 * Reads a JSON body: its value, and its text, which keeps large integers. Throws 400 `json_invalid`, `request_invalid`.
 */
export function parseJson(body: Buffer): { text: string; value: unknown } {
  if (!isUtf8(body)) throw new AppError('json_invalid', { detail: 'The body is not UTF-8.' });
  const text = body.toString();
  try {
    const value: unknown = JSON.parse(text);
    // If a name stands twice, JSON.parse takes the last one, and other readers the first. Only the top level is
    // checked: what lies deeper belongs to the caller.
    const repeated = repeatedName(text);
    if (repeated !== undefined) {
      throw invalidInput(`/${repeated}`, 'is given more than once', 'field_repeated');
    }
    return { text, value };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('json_invalid', { detail: `The body is not JSON: ${String(error)}` });
  }
}

/** Where an input came from: `?` is the query, `/` the body. */
type Place = '?' | '/';

/** Throws `request_invalid` when the value does not fit the schema. */
export type Check = (value: unknown) => void;

/** Makes checks out of schemas. They convert nothing, and nothing unknown is dropped silently. */
export class Validator {
  readonly #first = createAjv({ allErrors: false });
  readonly #all = createAjv({ allErrors: true });

  /**
   * The check throws 400 `request_invalid` with one entry for each fault, for at most the first twenty faults. A schema
   * is compiled when it is first needed, and kept by the library: all of them at once took a quarter of a start's time.
   */
  check(schema: TSchema, place: Place): Check {
    return (value) => {
      const validate = this.#first.compile(schema);
      if (validate(value)) return;
      const validateAll = this.#all.compile(schema);
      // Of a large body only the first fault is reported: for a megabyte of faults the answer would have a hundred.
      const errors = isSmall(value) && !validateAll(value) ? validateAll.errors : validate.errors;
      const faults = readable(errors ?? [])
        .slice(0, maxFaults)
        .map((error) => describe(error, place));
      throw new AppError('request_invalid', {
        detail: faults
          .map(({ path, message }) => `${path.slice(1) || 'the body'}: ${message}`)
          .join('; '),
        errors: faults,
      });
    };
  }
}

const maxFaults = 20;
const maxBytesForAll = 16_384;

function isSmall(value: unknown): boolean {
  try {
    return JSON.stringify(value).length <= maxBytesForAll;
  } catch {
    // The value is nested so deeply that the stack does not suffice.
    return false;
  }
}

function createAjv(options: { allErrors: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    ...options,
    strict: true,
    allowUnionTypes: true,
    // Each error holds its schema, whose description says what would fit.
    verbose: true,
    // The schemas are all ours, and contract.test.ts compares them with the schema of schemas: that takes longer than
    // to compile them.
    meta: false,
    validateSchema: false,
    keywords: [fits],
  });
  // In Node's ES modules the default export of a CommonJS package is wrapped once more.
  (addFormats as unknown as { default: (ajv: Ajv2020) => void }).default(ajv);
  return ajv;
}

/** The codes of single faults. They never change, and docs/errors.md documents them. */
export const faultCodes = {
  field_unknown: 'No such parameter or field.',
  field_required: 'Missing.',
  type_invalid: 'Of another type than the contract says.',
  value_invalid: 'Of the right type, but not a value that is allowed.',
  parameter_repeated: 'A query parameter that is given more than once.',
  field_repeated: 'A field of the body that is given more than once.',
  where_invalid: 'A `where` that breaks its grammar or its bounds; `at` is the character.',
} as const;

/**
 * Keeps one fault for each place. If a value may have several shapes, this is the fault that keeps it from the shape
 * whose type it has; if it has the type of none of them, the fault lists the allowed types.
 */
function readable(errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  return errors.filter((error) => {
    if (error.keyword === 'anyOf') return !errors.some((other) => isNearMiss(other, error));
    const union = unions.find((outer) => isWithin(error, outer));
    return union === undefined || isNearMiss(error, union);
  });
}

function isWithin(error: ErrorObject, union: ErrorObject): boolean {
  return error.schemaPath.startsWith(`${union.schemaPath}/`);
}

/** Returns whether the value has the type of this shape but fails another rule of it. */
function isNearMiss(error: ErrorObject, union: ErrorObject): boolean {
  const isOfType = error.keyword === 'type' && error.instancePath === union.instancePath;
  return isWithin(error, union) && !isOfType && error.keyword !== 'anyOf';
}

function describe(error: ErrorObject, place: Place): InputFault {
  const { keyword, params, parentSchema } = error;
  const at = (suffix: string) =>
    place === '?'
      ? `?${(error.instancePath + suffix).slice(1)}`
      : error.instancePath + suffix || '/';
  switch (keyword) {
    case 'additionalProperties': {
      const known = Object.keys(parentSchema?.properties ?? {}).join(', ');
      const what = place === '?' ? 'parameter' : 'field';
      return {
        path: at(`/${params.additionalProperty}`),
        code: 'field_unknown',
        message: `there is no such ${what}${known === '' ? '' : `; there are ${known}`}`,
      };
    }
    case 'required':
      return {
        path: at(`/${params.missingProperty}`),
        code: 'field_required',
        message: 'is required',
      };
    default: {
      const code = keyword === 'type' || keyword === 'anyOf' ? 'type_invalid' : 'value_invalid';
      const say = Object.hasOwn(sentences, keyword) ? sentences[keyword] : undefined;
      return { path: at(''), code, message: say?.(error) ?? 'is not a value that is taken here' };
    }
  }
}

type Sentence = (error: ErrorObject) => string;

/** Says what would fit, for each keyword that a contract may use. The library's own words are never sent. */
const sentences: Readonly<Record<string, Sentence>> = {
  not: () => 'must be another value',
  type: ({ params, data }) => `must be ${typeText([params.type].flat())}, not ${kindOf(data)}`,
  anyOf: ({ schema, data }) => {
    const shapes = (schema as { type?: string }[]).flatMap(({ type }) => type ?? []);
    return `must be ${typeText(shapes)}, not ${kindOf(data)}`;
  },
  enum: ({ params }) => `must be one of ${params.allowedValues.join(', ')}`,
  const: ({ params }) => `must be ${JSON.stringify(params.allowedValue)}`,
  pattern: ({ parentSchema, params }) =>
    `must be ${parentSchema?.[fits] ?? parentSchema?.description ?? `text that matches ${params.pattern}`}`,
  format: ({ parentSchema, params }) =>
    `must be ${formatTexts[params.format] ?? parentSchema?.description ?? params.format}`,
  minLength: ({ params: { limit } }) => atLeast(limit, 'character'),
  maxLength: ({ params: { limit } }) => atMost(limit, 'character'),
  minItems: ({ params: { limit } }) => atLeast(limit, 'entry'),
  maxItems: ({ params: { limit } }) => atMost(limit, 'entry'),
  minProperties: ({ params: { limit }, parentSchema }) =>
    `${atLeast(limit, 'field')}${namesOf(parentSchema)}`,
  maxProperties: ({ params: { limit }, parentSchema }) =>
    `${atMost(limit, 'field')}${namesOf(parentSchema)}`,
  minimum: ({ params }) => `must be at least ${params.limit}`,
  maximum: ({ params }) => `must be at most ${params.limit}`,
  exclusiveMinimum: ({ params }) => `must be more than ${params.limit}`,
  uniqueItems: () => 'must not name anything twice',
};

const typeTexts: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

/** What is sent whatever the description of a field says: that may tell what the time is for. */
const formatTexts: Readonly<Record<string, string>> = {
  'date-time': 'a time such as 2026-03-05T14:07:09.123456Z',
};

function typeText(types: readonly string[]): string {
  return types.map((type) => typeTexts[type] ?? type).join(' or ');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  // A number or a truth value is repeated as it is: "not 1.5" says more than "not a number".
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeTexts[typeof value] ?? typeof value;
}

function atLeast(limit: number, thing: string): string {
  if (limit === 1 && thing !== 'field') return 'must not be empty';
  return `must have at least ${counted(limit, thing)}`;
}

function atMost(limit: number, thing: string): string {
  return limit === 0 ? 'must be empty' : `must have at most ${counted(limit, thing)}`;
}

function counted(count: number, thing: string): string {
  const plural = thing === 'entry' ? 'entries' : `${thing}s`;
  return `${count} ${count === 1 ? thing : plural}`;
}

function namesOf(schema: ErrorObject['parentSchema']): string {
  const names = Object.keys(schema?.properties ?? {}).join(', ');
  return names === '' ? '' : ` of ${names}`;
}
