import { expect, test } from 'vitest';
import { apiContract, type RouteContract } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { fits } from './schemas.contract.ts';
import { Validator } from './validate.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Keywords that say nothing of what is valid, or hold other schemas. */
const silent = [
  'description',
  fits,
  'default',
  'examples',
  'properties',
  'items',
  'patternProperties',
];

/** A value that this keyword alone refuses; of a schema reduced to it and its type. */
const refused: Readonly<Record<string, (schema: Schema) => unknown>> = {
  type: () => undefined,
  anyOf: () => Symbol('nothing'),
  enum: () => 'no such word',
  const: () => 'another',
  pattern: ({ pattern }) =>
    ['~', '\u0000', '/', '\ud800', '*x'].find(
      (text) => !new RegExp(String(pattern), 'u').test(text),
    ),
  format: () => 'someday',
  minLength: ({ minLength }) => 'x'.repeat(Number(minLength) - 1),
  maxLength: ({ maxLength }) => 'x'.repeat(Number(maxLength) + 1),
  minItems: ({ minItems }) => Array(Number(minItems) - 1).fill(0),
  maxItems: ({ maxItems }) => Array(Number(maxItems) + 1).fill(0),
  uniqueItems: () => [1, 1],
  minimum: ({ minimum }) => Number(minimum) - 1,
  maximum: ({ maximum }) => Number(maximum) + 1,
  exclusiveMinimum: ({ exclusiveMinimum }) => Number(exclusiveMinimum),
  not: ({ not }) => (not as { enum: readonly unknown[] }).enum[0],
  required: () => ({}),
  additionalProperties: () => ({ 'no such name': 1 }),
  minProperties: () => ({}),
  maxProperties: ({ maxProperties }) =>
    Object.fromEntries(Array.from({ length: Number(maxProperties) + 1 }, (_, n) => [`x${n}`, n])),
};

const validator = new Validator();

function messagesOf(schema: Schema, value: unknown): string[] {
  try {
    validator.check(schema, '/')(value);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.errors ?? []).map(({ message }) => message);
  }
  return [];
}

/** Each schema inside a schema, itself counted. */
function* walk(schema: unknown): Generator<Schema> {
  if (typeof schema !== 'object' || schema === null) return;
  if (!Array.isArray(schema) && !('properties' in schema && !('type' in schema)))
    yield schema as Schema;
  const {
    properties = {},
    items,
    anyOf = [],
    patternProperties = {},
  } = schema as {
    properties?: object;
    items?: unknown;
    anyOf?: unknown[];
    patternProperties?: object;
  };
  for (const inner of [
    ...Object.values(properties),
    items,
    ...anyOf,
    ...Object.values(patternProperties),
  ]) {
    yield* walk(inner);
  }
}

const inputs = Object.values<RouteContract>(apiContract).flatMap(({ id, query, body, params }) =>
  Object.entries({ query, body, params }).flatMap(([part, schema]) =>
    schema === undefined
      ? []
      : [...walk(schema)].map((inner) => ({ where: `${id} ${part}`, inner })),
  ),
);
const keywords = [...new Set(inputs.flatMap(({ inner }) => Object.keys(inner)))].filter(
  (keyword) => !silent.includes(keyword),
);

test.each(keywords)('a value that fails %s is told in our words what is allowed', (keyword) => {
  const spoil = refused[keyword];
  if (spoil === undefined)
    throw new Error(`no contract had ${keyword} before: add a value it refuses`);
  const spoilt = new Map<string, { schema: Schema; value: unknown; where: string }>();
  for (const { where, inner } of inputs) {
    const takesAll = keyword === 'additionalProperties' && inner.additionalProperties === true;
    if (!(keyword in inner) || takesAll) continue;
    // What is told of a wrong type depends on nothing else.
    const names =
      keyword === 'type' ? [keyword] : ['description', fits, 'type', 'properties', keyword];
    const schema = Object.fromEntries(
      Object.entries(inner).filter(([name]) => names.includes(name)),
    );
    const value = keyword === 'type' ? (inner.type === 'null' ? 1 : null) : spoil(inner);
    spoilt.set(JSON.stringify([schema, value]), { schema, value, where });
  }
  for (const { schema, value, where } of spoilt.values()) {
    const messages = messagesOf(schema, value);
    expect(messages, `${where} ${JSON.stringify(schema)}`).not.toEqual([]);
    for (const message of messages) {
      expect(message, where).toMatch(
        /^(must (be|have|not be empty|not name)|is required$|there is no such)/,
      );
      expect(message, where).not.toMatch(
        /NOT|fewer|must match|equal to one of|(?<!, )schema|undefined|\[object/,
      );
    }
  }
});

test('a value that does not fit a pattern is told what would, not what the field is for', () => {
  const said = inputs.flatMap(({ where, inner }) =>
    inner.pattern === undefined ? [] : [`${String(inner[fits] ?? inner.description)} (${where})`],
  );
  const isForm = /^(an? |one |at most |1|text |letters|minutes|printable|whsec_|the other slice)/;
  expect(said.filter((text) => !isForm.test(text))).toEqual([]);
});

test.each([
  [{ type: 'string' }, 5, 'must be text, not 5'],
  [{ type: 'integer' }, 1.5, 'must be a whole number, not 1.5'],
  [{ type: 'integer' }, 'x', 'must be a whole number, not text'],
  [{ type: 'object' }, null, 'must be an object, not null'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, [], 'must be text or null, not a list'],
  [{ anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] }, '', 'must not be empty'],
  [
    { anyOf: [{ type: 'array', items: { type: 'string', maxLength: 1 } }, { type: 'null' }] },
    ['ab'],
    'must have at most 1 character',
  ],
  [
    { type: 'string', format: 'date-time', description: 'records from then on' },
    'x',
    'must be a time such as 2026-03-05T14:07:09.123456Z',
  ],
  [
    { type: 'object', properties: { a: { type: 'string' }, b: {} }, additionalProperties: false },
    { c: 1 },
    'there is no such field; there are a, b',
  ],
  [
    { type: 'object', properties: { a: {}, b: {} }, minProperties: 1 },
    {},
    'must have at least 1 field of a, b',
  ],
])('%j says of %j: %s', (schema, value, message) => {
  expect(messagesOf(schema, value)).toEqual([message]);
});
