import type { OpenApiDocument, Operation, Parameter, Schema } from './openapi.ts';

/** One row of a table: a parameter, or a field of a body named by its path (`records[].tenant`). */
export type Field = {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
};

export type Body = { readonly mediaType: string; readonly fields: readonly Field[] };

export type OperationText = {
  readonly id: string;
  readonly method: string;
  /** The whole path as it is called, with the base path. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly paragraphs: readonly string[];
  readonly scope: string | null;
  readonly parameters: readonly (Field & { readonly place: Parameter['in'] })[];
  readonly bodies: readonly Body[];
  readonly answers: readonly Answer[];
  /** A call to paste into a shell in which SVC_URL and SVC_TOKEN are set. */
  readonly example: string;
};

export type Answer = {
  readonly status: string;
  readonly description: string;
  readonly isProblem: boolean;
  readonly headers: readonly { readonly name: string; readonly description: string }[];
  readonly body: Body | null;
};

/** Describes the operations of a document as a reader wants them: with tables and examples instead of schemas. */
export function describeOperations(document: OpenApiDocument): OperationText[] {
  const base = document.servers[0]?.url ?? '';
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      describeOperation(operation, method.toUpperCase(), base + path),
    ),
  );
}

function describeOperation(operation: Operation, method: string, path: string): OperationText {
  const content = Object.entries(operation.requestBody?.content ?? {});
  return {
    id: operation.operationId,
    method,
    path,
    tag: operation.tags[0] ?? '',
    summary: operation.summary,
    // The last paragraph names the scope, which a reader of this page sees beside the path.
    paragraphs: operation.description.split('\n\n').slice(0, -1),
    scope: operation['x-required-scope'],
    parameters: (operation.parameters ?? []).map(describeParameter),
    bodies: content.map(([mediaType, { schema }]) => bodyOf(mediaType, schema)),
    answers: Object.entries(operation.responses).map(([status, response]) => {
      const [mediaType, media] = Object.entries(response.content ?? {})[0] ?? [];
      const isProblem = mediaType === 'application/problem+json';
      return {
        status,
        description: response.description,
        isProblem,
        headers: Object.entries(response.headers ?? {}).flatMap(([name, header]) =>
          'description' in header ? [{ name, description: header.description }] : [],
        ),
        body: mediaType && media && !isProblem ? bodyOf(mediaType, media.schema) : null,
      };
    }),
    example: exampleCall(operation, method, path),
  };
}

function describeParameter(parameter: Parameter): OperationText['parameters'][number] {
  const { name, schema, required, description = '' } = parameter;
  return { ...fieldOf(name, schema, required, description), place: parameter.in };
}

function bodyOf(mediaType: string, schema: Schema): Body {
  return { mediaType, fields: fieldsOf(schema, '') };
}

/** Returns the fields of an object and, each named by its path, those of the objects in it. */
function fieldsOf(schema: Schema, prefix: string): Field[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, property]) => {
    const [inner, suffix] = innerObject(property);
    return [
      fieldOf(
        prefix + name,
        property,
        required.includes(name),
        property.description ?? nonNull(property).description ?? '',
      ),
      ...fieldsOf(inner, `${prefix}${name}${suffix}.`),
    ];
  });
}

function fieldOf(name: string, schema: Schema, required: boolean, description: string): Field {
  const type = typeText(schema);
  // A limit that the description already spells out is not repeated in the type.
  const [limits, text] = /, ((?:≤ )?\S+ characters)/.exec(type) ?? [];
  const isSaid = limits !== undefined && text !== undefined && description.includes(text);
  return { name, type: isSaid ? type.replace(limits, '') : type, required, description };
}

function innerObject(schema: Schema): [inner: Schema, suffix: string] {
  const value = nonNull(schema);
  return value.type === 'array' ? [nonNull(value.items ?? {}), '[]'] : [value, ''];
}

/** Returns a schema that may also be null, without the null; any other schema as it is. */
function nonNull(schema: Schema): Schema {
  const others = (schema.anyOf ?? []).filter((each) => each.type !== 'null');
  return (others.length === 1 && others[0]) || schema;
}

/** Returns a type in words, such as `integer 1–500, default 100`, `machine | spreadsheet` or `array (1–9) of time`. */
export function typeText(schema: Schema): string {
  const limits = schema.default === undefined ? '' : `, default ${JSON.stringify(schema.default)}`;
  return baseType(schema) + limits;
}

function baseType(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(baseType).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(String).join(' | ');
  const type = schema.type ?? 'any value';
  if (typeof type !== 'string') return type.join(' or ');
  switch (type) {
    case 'array':
      return `array${count(range(schema.minItems, schema.maxItems))} of ${baseType(schema.items ?? {})}`;
    case 'string':
      return stringType(schema);
    case 'integer':
    case 'number':
      return [type, range(schema.minimum, schema.maximum)].filter(Boolean).join(' ');
    default:
      return type;
  }
}

function stringType(schema: Schema): string {
  if (schema.format === 'date-time') return 'time';
  if (schema.format === 'date') return 'date';
  const length = range(schema.minLength, schema.maxLength);
  return length === '' ? 'string' : `string, ${length} characters`;
}

const numbers = new Intl.NumberFormat('en-US');

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined)
    return `${numbers.format(min)}–${numbers.format(max)}`;
  if (max !== undefined) return `≤ ${numbers.format(max)}`;
  return min === undefined ? '' : `≥ ${numbers.format(min)}`;
}

function count(text: string): string {
  return text === '' ? '' : ` (${text})`;
}

/**
 * The values for examples, by name. What is required and not here gets one that fits its schema; the rest is left out.
 */
const exampleValues: Readonly<Record<string, unknown>> = {
  tenant: 'TX',
  store: 'DFW',
  month: '2026-03',
  event_id: 'evt-1',
  occurred_at: '2026-03-05T14:07:09.123456Z',
  enrichment: { origin: 'DFW' },
  name: 'ops laptop',
  preset: 'support-readonly',
  status: 'abandoned',
};

function exampleCall(operation: Operation, method: string, path: string): string {
  const query = (operation.parameters ?? [])
    .filter((each) => each.in === 'query' && (each.required || each.name in exampleValues))
    .map((each) => `${each.name}=${encodeURIComponent(queryText(each))}`);
  const search = query.length > 0 ? `?${query.join('&')}` : '';
  const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => `$${name.toUpperCase()}`);
  const head = [
    `curl -sS${method === 'GET' ? '' : ` -X ${method}`} "$SVC_URL${url}${search}"`,
    ...(operation.security.length > 0 ? ['-H "Authorization: Bearer $SVC_TOKEN"'] : []),
  ];
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(
    ([mediaType, { schema }]) => bodyLines(mediaType, schema),
  );
  return (bodies.length > 0 ? bodies : [[]])
    .map((body) => [...head, ...body, ...outputLine(operation)].join(' \\\n  '))
    .join('\n\n');
}

/** An answer that is not JSON is written to a file. */
function outputLine(operation: Operation): string[] {
  const [answer] = Object.values(operation.responses);
  const [mediaType = 'application/json'] = Object.keys(answer?.content ?? {});
  const ending = mediaType.split(/\W/).at(-1);
  return ending === 'json' ? [] : [`-o answer.${ending}`];
}

function bodyLines(mediaType: string, schema: Schema): string[] {
  const value = JSON.stringify(exampleOf(schema)).replaceAll("'", "'\\''");
  const data = mediaType === 'application/json' ? `-d '${value}'` : '--data-binary @FILE';
  return [`-H "Content-Type: ${mediaType}"`, data];
}

function queryText({ name, schema }: Parameter): string {
  return String(exampleValues[name] ?? exampleOf(schema));
}

function exampleOf(schema: Schema): unknown {
  const value = nonNull(schema);
  const given = value.default ?? value.examples?.[0] ?? value.enum?.[0] ?? value.const;
  if (given !== undefined) return given;
  switch (String(value.type)) {
    case 'object':
      return objectExample(value);
    case 'array':
      return [exampleOf(value.items ?? {})];
    case 'integer':
    case 'number':
      return value.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return '…';
  }
}

function objectExample(schema: Schema): Record<string, unknown> {
  const { properties = {}, required = [] } = schema;
  const shown = Object.entries(properties).filter(
    ([name]) => required.includes(name) || name in exampleValues,
  );
  return Object.fromEntries(
    shown.map(([name, property]) => [name, exampleValues[name] ?? exampleOf(property)]),
  );
}
