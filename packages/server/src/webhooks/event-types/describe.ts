import type { CatalogueType } from '../contract.ts';

type Described = Pick<CatalogueType, 'type' | 'description' | 'schema' | 'sample' | 'deprecated'>;

/** The `webhooks` of an OpenAPI 3.1 document: each type as its request. References lead to where a schema stands. */
export function describeWebhooks(types: readonly Described[]): Record<string, unknown> {
  return Object.fromEntries(types.map((type) => [type.type, { post: operationOf(type) }]));
}

function operationOf({ type, description, schema, sample, deprecated }: Described) {
  const path = `#/webhooks/${escaped(type)}/post/requestBody/content/application~1json/schema`;
  const data = schema === null ? {} : moved(withoutDialect(schema), `${path}/properties/data`);
  const timestamp = '2026-03-05T14:07:09.123456Z';
  return {
    operationId: `receive ${type}`,
    tags: ['Webhooks'],
    summary: type,
    ...(description !== null && { description }),
    ...(deprecated && { deprecated }),
    parameters: headers,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['type', 'timestamp', 'data'],
            properties: {
              type: { const: type },
              timestamp: { type: 'string', format: 'date-time' },
              data,
            },
          },
          ...(sample !== null && { example: { type, timestamp, data: sample } }),
        },
      },
    },
    responses: {
      '2XX': { description: 'Delivered, whatever the body says.' },
      '410': { description: 'The endpoint is gone, and is disabled.' },
      default: { description: 'Not delivered: it is sent again.' },
    },
  };
}

const headers = (
  [
    ['webhook-id', 'the same on every attempt: by it repetitions are told'],
    ['webhook-timestamp', 'when this attempt was signed, in seconds since 1970'],
    ['webhook-signature', 'by Standard Webhooks: v1, and the signature in base64'],
    ['webhook-sequence', 'grows with the time at which the event was accepted', false],
    ['webhook-replay', 'of what is sent again: the webhook-id that it had first', false],
  ] as const
).map(([name, description, required = true]) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
}));

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** What a schema says of its dialect holds for a document alone. */
function withoutDialect({ $schema: _dialect, ...schema }: Readonly<Record<string, unknown>>) {
  return schema;
}

/** A schema with its references led to where it stands. */
function moved(schema: unknown, to: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => moved(part, to));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === '$ref' && typeof value === 'string' ? value.replace(/^#/, to) : moved(value, to),
    ]),
  );
}
