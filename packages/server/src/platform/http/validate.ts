import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { AppError, type InputFault } from '../../kernel/errors.ts';

/** Where an input came from: `?` = query parameter, `/` = body. */
export type Place = '?' | '/';

export type Check = (value: unknown) => void;

/** Builds checks out of schemas. Nothing is coerced and nothing unknown is dropped in silence. */
export class Validator {
  readonly #first = createAjv({ allErrors: false });
  readonly #all = createAjv({ allErrors: true });

  /** The check throws `request_invalid` with an entry per fault, the first twenty. */
  compile(schema: TSchema, place: Place): Check {
    const validate: ValidateFunction = this.#first.compile(schema);
    const validateAll: ValidateFunction = this.#all.compile(schema);
    return (value) => {
      if (validate(value)) return;
      // Of a large body only the first: a megabyte of faults would be a hundred of answer.
      const errors = isSmall(value) && !validateAll(value) ? validateAll.errors : validate.errors;
      const faults = (errors ?? []).slice(0, maxFaults).map((error) => describe(error, place));
      throw new AppError('request_invalid', {
        detail: faults.map((fault) => `${fault.path.slice(1)}: ${fault.message}`).join('; '),
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
    // Nested deeper than the stack is.
    return false;
  }
}

function createAjv(options: { allErrors: boolean }): Ajv2020 {
  // `verbose` gives each error its schema, whose description says what fits.
  const ajv = new Ajv2020({ ...options, strict: true, allowUnionTypes: true, verbose: true });
  // The CommonJS default export arrives wrapped under Node's ESM.
  (addFormats as unknown as { default: (ajv: Ajv2020) => void }).default(ajv);
  return ajv;
}

/** Codes of single faults: stable, and documented in docs/errors.md. */
export const faultCodes = {
  field_unknown: 'No such parameter or field.',
  field_required: 'Missing.',
  type_invalid: 'Of another type than the contract says.',
  value_invalid: 'Of the right type, but not a value that is allowed.',
  parameter_repeated: 'A query parameter that is given more than once.',
} as const;

function describe(error: ErrorObject, place: Place): InputFault {
  const at = (suffix: string) =>
    place === '?'
      ? `?${(error.instancePath + suffix).slice(1)}`
      : error.instancePath + suffix || '/';
  switch (error.keyword) {
    case 'additionalProperties':
      return {
        path: at(`/${error.params.additionalProperty}`),
        code: 'field_unknown',
        message: place === '?' ? 'there is no such parameter' : 'there is no such field',
      };
    case 'required':
      return {
        path: at(`/${error.params.missingProperty}`),
        code: 'field_required',
        message: 'is required',
      };
    case 'type':
      return { path: at(''), code: 'type_invalid', message: error.message ?? 'has the wrong type' };
    case 'enum':
      return {
        path: at(''),
        code: 'value_invalid',
        message: `must be one of ${error.params.allowedValues.join(', ')}`,
      };
    default: {
      const hint = error.parentSchema?.description;
      return {
        path: at(''),
        code: 'value_invalid',
        message: error.keyword === 'pattern' && hint ? `must be ${hint}` : sizeText(error),
      };
    }
  }
}

/** What fits, in words. */
function sizeText({ keyword, params, message }: ErrorObject): string {
  const { limit } = params;
  const things = keyword.endsWith('Items') ? 'entries' : 'characters';
  switch (keyword) {
    case 'minLength':
    case 'minItems':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} ${things}`;
    case 'maxLength':
    case 'maxItems':
      return `must have at most ${limit} ${things}`;
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'uniqueItems':
      return 'must not name anything twice';
    default:
      return message ?? 'is not valid';
  }
}

/**
 * Query text to the object its schema checks: whole numbers and true/false become what they say where
 * the schema wants them; anything else stays text and fails its type. A repeated name is refused.
 */
export function parseQuery(search: string, schema: TSchema | undefined): Record<string, unknown> {
  const object: { properties?: Record<string, { type?: string }> } | undefined = schema;
  const properties = object?.properties;
  const query: Record<string, unknown> = Object.create(null);
  for (const [name, value] of new URLSearchParams(search)) {
    if (name in query) {
      throw new AppError('request_invalid', {
        detail: `${name}: is given more than once`,
        errors: [
          { path: `?${name}`, code: 'parameter_repeated', message: 'is given more than once' },
        ],
      });
    }
    query[name] = typed(value, properties?.[name]?.type);
  }
  return query;
}

function typed(value: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?(0|[1-9]\d{0,14})$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}
