import {
  type Static,
  type TNumberOptions,
  type TObjectOptions,
  type TProperties,
  type TSchemaOptions,
  type TStringOptions,
  Type,
} from 'typebox';
import { hiddenNameRule } from '../../kernel/names.ts';
import { remainKinds, workKinds, workStates } from '../../kernel/values.ts';

// These are the schemas that the contracts of several features share.

/** A schema for exactly one of these words. */
export const oneOf = <const T extends readonly string[]>(values: T, description?: string) =>
  Type.Unsafe<T[number]>({
    type: 'string',
    enum: [...values],
    ...(description === undefined ? {} : { description }),
  });

export const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  description?: string,
) => Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Fields and parameters that may be left out. */
export const optional = {
  string: (options?: TStringOptions) => Type.Optional(Type.String(options)),
  integer: (options?: TNumberOptions) => Type.Optional(Type.Integer(options)),
  number: (options?: TNumberOptions) => Type.Optional(Type.Number(options)),
  boolean: (options?: TSchemaOptions) => Type.Optional(Type.Boolean(options)),
};

/** An object without other fields: a name that is unknown is an error. */
export const exactly = <T extends TProperties>(fields: T, options: TObjectOptions = {}) =>
  Type.Object(fields, { additionalProperties: false, ...options });

/** Says what fits a pattern, where the description says what the field is for: a refusal says it. */
export const fits = 'x-fits';

/** The names of tenants and stores hold no control characters and no "/". */
const noControlNoSlash = '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff/]*$';
/** Half a surrogate pair is not a character, and the database cannot hold U+0000. */
const noNullCharacter = '^[^\\u0000\\ud800-\\udfff]*$';

/** The name of a kind, a source or a model. */
export const labelSchema = Type.String({
  maxLength: 200,
  pattern: noNullCharacter,
  description: 'at most 200 characters, no U+0000',
});
/** The id that the pipeline gave an event. */
export const eventIdSchema = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: noNullCharacter,
  description: '1–200 characters, no control characters',
});

const nameLimits = '1–128 characters, no control characters, no "/"';
export const tenantSchema = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: noControlNoSlash,
  description: nameLimits,
  [fits]: nameLimits,
});
export const storeSchema = tenantSchema;

export const newNameLimits = `${nameLimits}, not "*", "." or ".."; ${hiddenNameRule}`;
/**
 * A tenant or a store for which something is to be stored or allowed. The schemas above still take reserved names: what
 * was stored under one before they were refused can be read, exported, moved and erased as before.
 */
export const newTenantSchema = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: noControlNoSlash.replace('^', '^(?![*]$|[.]{1,2}$)'),
  description: newNameLimits,
  [fits]: newNameLimits,
});
export const newStoreSchema = newTenantSchema;
const newName = '(?!([*]|[.]{1,2})(/|$))[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff/]{1,128}';
/** A store with its tenant, as `TX/DFW`. */
export const storeNamePattern = `^${newName}/${newName}$`;
export const storeNameLimits = `a tenant and a store of it, as TX/DFW, each of ${newNameLimits}`;
export const storeNameSchema = Type.String({
  pattern: storeNamePattern,
  description: storeNameLimits,
  [fits]: storeNameLimits,
});

/** A name that people give to things. */
export const nameSchema = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
  description: '1–200 characters, no control characters',
  [fits]: 'text without control characters',
});

export const instantSchema = Type.String({
  format: 'date-time',
  examples: ['2026-03-05T14:07:09.123456Z'],
});
export const dateSchema = Type.String({
  format: 'date',
  pattern: '^[12]',
  description: 'a date such as 2026-03-05, up to 2999-12-31',
  examples: ['2026-03-05'],
});
/** An end of a range of times, which belongs to it: a whole day by UTC, or an instant. */
export const dayOrInstantSchema = Type.String({
  pattern: '^[12][0-9]{3}-[0-9]{2}-[0-9]{2}(T[0-9:.]{8,15}(Z|[+-][0-9]{2}:[0-9]{2}))?$',
  description: 'a date such as 2026-03-05, or a time such as 2026-03-05T14:07:09Z',
  [fits]: 'a date such as 2026-03-05, or a time such as 2026-03-05T14:07:09Z',
  examples: ['2026-03-05', '2026-03-05T14:07:09Z'],
});
export const monthSchema = Type.String({
  pattern: '^(19[7-9][0-9]|2[0-9]{3})-(0[1-9]|1[0-2])$',
  description: 'a month such as 2026-03, from 1970-01 on',
  examples: ['2026-03'],
});
export const limitSchema = Type.Integer({ minimum: 1, maximum: 500, default: 100 });
export const cursorSchema = Type.String({
  minLength: 1,
  maxLength: 4000,
  description: 'next_cursor or prev_cursor of an earlier answer to the same filters',
});
/** What a list is asked for, beside its filters. */
export const paging = { limit: Type.Optional(limitSchema), cursor: Type.Optional(cursorSchema) };
/** A page of rows, as every list answers it. `next_cursor` is null on the last page. */
export const pageOf = <T extends Parameters<typeof Type.Array>[0]>(row: T) =>
  Type.Object({ data: Type.Array(row), next_cursor: nullable(Type.String()) });

export const digestSchema = Type.String({
  pattern: '^[0-9a-f]{16}$',
  [fits]: '16 hex digits',
  description: 'sum of the records’ digests mod 2^64, 16 hex digits',
});

export const problemSchema = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  code: Type.String(),
  request_id: Type.String(),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        path: Type.String(),
        code: Type.String(),
        message: Type.String(),
        at: optional.integer({ description: 'in a `where`, the character that is wrong, from 1' }),
      }),
    ),
  ),
});

export const problem = {
  description: 'A problem document (RFC 9457); `code` is stable.',
  schema: problemSchema,
  mediaType: 'application/problem+json',
} as const;

/** The answer of a list of such rows. */
export const onePage = <T extends Parameters<typeof Type.Array>[0]>(row: T) => ({
  200: { description: 'One page.', schema: pageOf(row) },
});

/** What an erasure cannot take away at once, or at all. */
export const remainsSchema = Type.Array(
  Type.Object({
    what: oneOf(remainKinds),
    until: nullable({ ...instantSchema, description: 'null: nobody can tell' }),
    note: Type.String({ description: 'what it is, and what ends it' }),
  }),
  { description: 'where what was erased still is, though no read finds it' },
);

/** Work that is under way, or waits for its turn. */
export const workSchema = Type.Object({
  kind: oneOf(workKinds),
  id: Type.String(),
  state: oneOf(workStates),
  tenant: nullable(Type.String()),
  done: Type.Integer({
    description: 'records; of a verification bytes; of a retry or a replay deliveries',
  }),
  total: nullable(Type.Integer({ description: 'null: not known yet' })),
});
export type WorkRow = Static<typeof workSchema>;
