import type { TSchema } from 'typebox';
import { basePath } from '../../kernel/values.ts';
import type { ResponseContract, RouteContract } from './contract.ts';
import { problem, problemSchema } from './schemas.contract.ts';

/** A JSON Schema (2020-12), as far as the document uses it. */
export type Schema = {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
};

export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
};

type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Reference = { readonly $ref: string };
type Header = { readonly description: string; readonly schema: Schema };

export type Response = {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Content;
};

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** The scope that the token needs; `any` means any valid token, null means that the call is open to everybody. */
  readonly 'x-required-scope': string | null;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly description?: string;
    readonly content: Content;
  };
  readonly responses: Readonly<Record<string, Response>>;
};

export type OpenApiDocument = {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
  readonly webhooks?: Readonly<Record<string, unknown>>;
};

/** What holds for every call: titles with their sentences, in Markdown (paragraphs and `code`). */
export const conventions = [
  {
    title: 'JSON and names',
    text: 'Bodies are JSON in UTF-8 with snake_case names. Nothing is coerced, and an unknown or repeated query parameter or field is refused with 400 by every call: a mistyped filter never widens a result. Ids are opaque; a malformed and an unknown id both answer 404. Strings order by their UTF-8 bytes.',
  },
  {
    title: 'Times',
    text: 'Times are RFC 3339 in UTC with exactly six fraction digits, such as `2026-03-05T14:07:09.123456Z`. Dates (`2026-03-05`) and months (`2026-03`) are UTC as well. `from` and `to` are dates, inclusive at both ends; they need each other and exclude `month`. Lists of deliveries, incidents and audit entries take times there as well, such as `2026-03-05T14:00:00Z`.',
  },
  {
    title: 'Lists and cursors',
    text: 'A list answers `{"data": […], "next_cursor": …}`. Pass `next_cursor` as `cursor`, with the same filters, to get the next page; null is the end. Cursors are opaque, signed and bound to the filters and the order they came from, not to `limit`; with other filters they are refused as `cursor_invalid`.',
  },
  {
    title: 'Errors',
    text: 'Every error is a problem document (RFC 9457, `application/problem+json`). Decide by `code`: it is stable. `detail` says what to do next, `errors` lists each fault of the input, and `type` links to the code’s entry in the reference. A path or a method that is not there answers 404 `route_not_found`; HEAD is there wherever GET is, and TRACE is refused with 405. They are checked in this order: 401, 403, 400, 404, 409, 413, 415, then 429 and 503; a token that has used up its share gets 429 whatever it asks for, and a process that has too much to do answers 503 `overloaded` before it looks at anything.',
  },
  {
    title: 'Requests and retries',
    text: 'Every answer carries `x-request-id`, which the log knows too. 429 and 503 carry `Retry-After` in seconds where the service knows when it can: the same call may succeed then. Within `/api/v1` changes only ever add.',
  },
  {
    title: 'Limits',
    text: 'Answers to calls with a token say how many requests are left, as draft-ietf-httpapi-ratelimit-headers-10 has it. `RateLimit-Policy: "token";q=6000;w=60` is the policy: a token may make so many requests at once, which come back evenly within 60 seconds. `RateLimit: "token";r=5990;t=1` is what is left, and in how many seconds all of it is there again. Where a token is limited to tenants, both name a second policy, `"tenants"`: all tokens that are limited to the same tenants, or to stores in them, share it; the latter are not told what is left of it. Beyond it the answer is 429 `rate_limited`. Limits of what goes on at once have no headers: a token, or all tokens that are limited to the same tenants, may have only a part of the requests under way (429 `requests_busy`), of the bytes being ingested (429 `ingest_busy`) and of the exports (429 `exports_busy`). With 429 and `overloaded` nothing was done, so that any call may be made again.',
  },
] as const;

/** How a caller gets a token, beginning with the first one in the life of a service, and how it is sent. */
export const authentication =
  'Send an access token as `Authorization: Bearer svc_…`. The first start of the service writes an admin token to `admin-token` in its data folder; an admin makes others with `svcctl tokens create` or `POST /api/v1/tokens`. A token holds scopes, and may be limited to tenants: what belongs to other tenants then looks as if it did not exist. One that is limited to stores likewise sees records of no other store; calls that do not say that they are for it refuse it with 403 `whole_tenant_required`.';

/** What a status means on every route that may answer with it and has no words of its own for it. */
export const statusMeanings: Readonly<Record<number, string>> = {
  400: 'A parameter or the body is not valid; `errors` says where.',
  401: 'The token is missing, mistyped, unknown, expired or revoked.',
  403: 'The token lacks the scope, or is limited to stores; `detail` names what is missing.',
  404: 'There is no such thing, or the token may not see it.',
  409: 'The thing is in a state that does not allow this.',
  410: 'There was such a thing, and it was removed.',
  413: 'The body is larger than the limit.',
  415: 'The body has a media type or coding that this call does not take.',
  416: 'The thing has no such bytes; `Content-Range` says how many it has.',
  429: 'Too much at once. Try again after `Retry-After`.',
  431: 'The headers are larger than 16 KiB.',
  500: 'The service made a mistake. Its log has it under `request_id`.',
  503: 'The service cannot answer at the moment. Try again after `Retry-After`.',
};

/** Makes the OpenAPI 3.1 document of the routes, with the schemas that validate. Paths are relative to `/api/v1`. */
export function buildOpenApi(
  contracts: readonly RouteContract[],
  info: { version: string },
): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const contract of contracts) {
    const path = contract.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operationOf(contract) };
  }
  const about = [
    `## Authentication\n\n${authentication}`,
    ...conventions.map(({ title, text }) => `## ${title}\n\n${text}`),
  ];
  return plain({
    openapi: '3.1.0',
    info: { title: 'svcctl', version: info.version, description: about.join('\n\n') },
    servers: [{ url: basePath }],
    tags: [...new Set(contracts.map((contract) => contract.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'svc_…',
          description: 'An access token.',
        },
      },
      schemas: { Problem: problemDocument },
      headers: {
        RequestId: { description: 'Names this request in the log.', schema: { type: 'string' } },
        RetryAfter: {
          description: 'Seconds to wait before the same call again.',
          schema: { type: 'integer' },
        },
        RateLimitPolicy: {
          description: 'How many requests a minute the caller may make: see Limits.',
          schema: { type: 'string' },
        },
        RateLimit: {
          description: 'How many of them are left, and when all are there again: see Limits.',
          schema: { type: 'string' },
        },
        Authenticate: { description: 'The scheme to use: Bearer.', schema: { type: 'string' } },
      },
    },
  });
}

const problemDocument = {
  ...problemSchema,
  description: 'A problem document (RFC 9457).',
  properties: {
    ...problemSchema.properties,
    type: { type: 'string', description: 'link to the code in the reference' },
    title: { type: 'string', description: 'what the code means' },
    detail: { type: 'string', description: 'what happened here and what to do next' },
    code: { type: 'string', description: 'stable; decide by it', examples: ['request_invalid'] },
    errors: { ...problemSchema.properties.errors, description: 'the faults of the input' },
  },
};

function operationOf(contract: RouteContract): Operation {
  const { scope } = contract;
  const paragraphs = [
    contract.description,
    stepUpSentence(contract.stepUp),
    fourEyesSentence(contract.fourEyes),
    storesSentence(contract),
    scopeSentence(scope),
  ];
  const headers = Object.entries(contract.headers ?? {}).map(([name, description]) =>
    parameter(name, 'header', false, { type: 'string', description }),
  );
  const parameters = [...pathParameters(contract), ...queryParameters(contract), ...headers];
  return {
    operationId: contract.id,
    tags: [contract.tag],
    summary: contract.summary,
    description: paragraphs.filter(Boolean).join('\n\n'),
    security: scope === null ? [] : [{ bearer: [] }],
    'x-required-scope': scope,
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(contract),
    responses: responsesOf(contract),
  };
}

function stepUpSentence(stepUp: RouteContract['stepUp']): string {
  if (stepUp === undefined) return '';
  let who = 'A';
  if (stepUp !== true) {
    who =
      'when' in stepUp
        ? `With ${stepUp.when.map((field) => `\`${field}\``).join(' or ')}, a`
        : `Unless \`${stepUp.unless}\` is set, a`;
  }
  return `${who} console session must have confirmed with its access token within ten minutes (\`POST /session/confirm\`), else 403 \`step_up_required\`; a call with the token itself needs no more.`;
}

function fourEyesSentence(acts: RouteContract['fourEyes']): string {
  if (acts === undefined) return '';
  const names = acts.map((act) => `\`${act}\``).join(' or ');
  return `Where \`SVC_FOUR_EYES\` names ${names}, it is kept for 24 hours and answered with 403 \`approval_required\` and an \`approval_id\`: somebody else confirms it (\`POST /approvals/:id/confirm\`).`;
}

function scopeSentence(scope: RouteContract['scope']): string {
  if (scope === null) return 'Open to all: needs no token.';
  return scope === 'any' ? 'Needs any valid token.' : `Needs the scope \`${scope}\`.`;
}

function storesSentence({ scope, stores }: RouteContract): string {
  if (scope === null || stores === undefined) return '';
  return `Also for tokens limited to stores${stores === 'named' ? ', which name the tenant and one of these, else 403 `whole_tenant_required`' : ''}.`;
}

/** Takes the parameters from the path itself, so that none can be missing; the schema adds what it knows of them. */
function pathParameters(contract: RouteContract): Parameter[] {
  const { properties = {} } = (contract.params ?? {}) as Schema;
  return [...contract.path.matchAll(/:(\w+)/g)].map(([, name = '']) =>
    parameter(name, 'path', true, properties[name] ?? { type: 'string' }),
  );
}

function queryParameters(contract: RouteContract): Parameter[] {
  const { properties = {}, required = [] } = (contract.query ?? {}) as Schema;
  return Object.entries(properties).map(([name, schema]) =>
    parameter(name, 'query', required.includes(name), schema),
  );
}

function parameter(
  name: string,
  place: 'path' | 'query' | 'header',
  required: boolean,
  schema: Schema,
): Parameter {
  const { description, ...rest } = schema;
  const said = description === undefined ? {} : { description };
  return { name, in: place, required, ...said, schema: rest };
}

function requestBody(contract: RouteContract): Pick<Operation, 'requestBody'> {
  const { body, streamedBody } = contract;
  if (streamedBody !== undefined) {
    const json = body === undefined ? {} : { 'application/json': body };
    const content = Object.entries({ ...json, ...streamedBody }).map(
      ([mediaType, schema]) => [mediaType, { schema: schemaOf(schema) }] as const,
    );
    const hasLines = 'application/x-ndjson' in streamedBody;
    const description = 'As `application/x-ndjson` the schema describes one line.';
    return {
      requestBody: {
        required: true,
        ...(hasLines && { description }),
        content: Object.fromEntries(content),
      },
    };
  }
  if (body === undefined) return {};
  const schema = schemaOf(body);
  const required = (schema.required ?? []).length > 0;
  return { requestBody: { required, content: { 'application/json': { schema } } } };
}

function responsesOf(contract: RouteContract): Record<string, Response> {
  const responses: Record<string, Response> = {};
  for (const [status, response] of Object.entries(contract.responses)) {
    responses[status] = responseOf(contract, Number(status), response);
  }
  for (const status of commonStatuses(contract)) {
    responses[status] ??= responseOf(contract, status, problem);
  }
  return responses;
}

/** The statuses that a route may answer, as the document says. */
export function statusesOf(contract: RouteContract): number[] {
  return [...Object.keys(contract.responses).map(Number), ...commonStatuses(contract)];
}

/** Returns the statuses of errors that the server itself answers with, whatever the handler of the route does. */
function commonStatuses(contract: RouteContract): number[] {
  const { scope, body, streamedBody } = contract;
  const hasBody = body !== undefined || streamedBody !== undefined;
  return [
    400,
    ...(scope === null ? [] : [401, 403]),
    ...(hasBody ? [413, 415] : []),
    429,
    431,
    500,
    503,
  ];
}

function responseOf(
  { scope }: RouteContract,
  status: number,
  response: ResponseContract,
): Response {
  const { description, schema, mediaType = 'application/json' } = response;
  const mediaTypes = typeof mediaType === 'string' ? [mediaType] : mediaType;
  const isProblem = mediaType === problem.mediaType;
  const said = Object.entries(response.headers ?? {}).map(
    ([name, text]) => [name, { description: text, schema: { type: 'string' } }] as const,
  );
  const content = isProblem ? { $ref: '#/components/schemas/Problem' } : schemaOf(schema);
  return {
    description:
      description === problem.description ? (statusMeanings[status] ?? description) : description,
    headers: {
      'x-request-id': { $ref: '#/components/headers/RequestId' },
      // Who is not known, or finds no place, is not counted.
      ...(scope !== null &&
        status !== 401 &&
        status !== 431 &&
        status !== 503 && {
          'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
          RateLimit: { $ref: '#/components/headers/RateLimit' },
        }),
      ...(status === 401 && { 'WWW-Authenticate': { $ref: '#/components/headers/Authenticate' } }),
      ...((status === 429 || status === 503) && {
        'Retry-After': { $ref: '#/components/headers/RetryAfter' },
      }),
      ...Object.fromEntries(said),
    },
    ...(schema !== undefined && {
      content: Object.fromEntries(mediaTypes.map((type) => [type, { schema: content }])),
    }),
  };
}

function schemaOf(schema: TSchema | undefined): Schema {
  return schema ?? {};
}

/** Drops what JSON cannot hold: `undefined`, and the hidden marks of the schema library. */
function plain(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(JSON.stringify(document));
}
