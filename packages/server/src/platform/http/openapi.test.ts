import { Validator } from '@seriousme/openapi-schema-validator';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { apiContract } from '../../contract.ts';
import type { RouteContract } from './contract.ts';
import { buildOpenApi, type Operation } from './openapi.ts';
import { problem } from './schemas.contract.ts';

const contracts: readonly RouteContract[] = Object.values(apiContract);
const document = buildOpenApi(contracts, { version: '1.2.3' });

function operation(path: string, method: string): Operation {
  const found = document.paths[path]?.[method];
  if (found === undefined) throw new Error(`no ${method} ${path}`);
  return found;
}

/** The one operation of a document made from one route. */
function only(contract: Partial<RouteContract>): Operation {
  const route: RouteContract = {
    id: 'only',
    method: 'GET',
    path: '/only',
    tag: 'T',
    summary: 'S',
    scope: 'admin',
    responses: { 200: { description: 'Fine.' } },
    ...contract,
  };
  const [found] = Object.values(buildOpenApi([route], { version: '1' }).paths).flatMap((item) =>
    Object.values(item),
  );
  if (found === undefined) throw new Error('no operation');
  return found;
}

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  expect(result).toMatchObject({ valid: true });
  expect(validator.version).toBe('3.1');
  expect(() => validator.resolveRefs()).not.toThrow();
});

test('it holds one operation per route, each under its own id', () => {
  const ids = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .map((each) => each.operationId);
  expect(ids.toSorted()).toEqual(contracts.map((contract) => contract.id).toSorted());
  expect(new Set(ids).size).toBe(ids.length);
});

test('nothing in it is undefined', () => {
  expect(document).toStrictEqual(JSON.parse(JSON.stringify(document)));
});

test('the server URL carries the version and the paths do not', () => {
  expect(document.servers).toEqual([{ url: '/api/v1' }]);
  expect(document.info.version).toBe('1.2.3');
  expect(Object.keys(document.paths)).toContain('/enrichment/records');
});

test('a destructive route says that a session must confirm, and ends with its scope all the same', () => {
  const paragraphs = only({ description: 'Ends it.', stepUp: true }).description.split('\n\n');
  expect(paragraphs).toEqual([
    'Ends it.',
    expect.stringContaining('`POST /session/confirm`'),
    'Needs the scope `admin`.',
  ]);
  expect(operation('/tokens', 'get').description).not.toContain('confirm');
  const inBody = only({ method: 'PATCH', stepUp: { when: ['discard'] } }).description;
  expect(inBody).toMatch(/^With `discard`, a console session must have confirmed/);
});

test('a file tells each media type that it may have', () => {
  for (const path of ['/exports/{id}/file', '/exports/links/{code}']) {
    expect(Object.keys(operation(path, 'get').responses['200']?.content ?? {})).toEqual([
      'text/csv',
      'application/x-ndjson',
      'application/vnd.apache.parquet',
      'application/gzip',
      'application/zstd',
      'application/x-tar',
    ]);
  }
});

test('methods of one path stand together', () => {
  expect(Object.keys(document.paths['/tokens'] ?? {}).toSorted()).toEqual(['get', 'post']);
});

describe('a route', () => {
  test('turns :id into {id}, required, though it has no schema of it', () => {
    const { parameters } = only({ path: '/things/:id/retry' });
    expect(parameters).toEqual([
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    ]);
  });

  test('documents its query parameters with default and description', () => {
    const limit = Type.Integer({ minimum: 1, default: 100, description: 'rows' });
    const query = Type.Object({ status: Type.String(), limit: Type.Optional(limit) });
    expect(only({ query }).parameters).toEqual([
      { name: 'status', in: 'query', required: true, schema: { type: 'string' } },
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'rows',
        schema: { type: 'integer', minimum: 1, default: 100 },
      },
    ]);
  });

  test('documents each media type of a streamed body', () => {
    const body = operation('/enrichment/records', 'post').requestBody;
    expect(Object.keys(body?.content ?? {})).toEqual([
      'application/json',
      'application/x-ndjson',
      'application/jsonl',
    ]);
    expect(body?.required).toBe(true);
  });

  test('needs a body only where a field of it is required', () => {
    const method = 'POST';
    const required = Type.Object({ a: Type.String() });
    const optional = Type.Object({ a: Type.Optional(Type.String()) });
    expect(only({ method, body: required }).requestBody?.required).toBe(true);
    expect(only({ method, body: optional }).requestBody?.required).toBe(false);
  });

  test('documents media type and headers of its answer', () => {
    const answer = operation('/exports/csv', 'post').responses['200'];
    expect(Object.keys(answer?.content ?? {})).toEqual([
      'text/csv',
      'application/gzip',
      'application/zstd',
    ]);
    expect(Object.keys(answer?.headers ?? {})).toEqual(
      expect.arrayContaining(['x-request-id', 'X-Record-Count', 'Content-Disposition']),
    );
  });

  test('names the scope it needs', () => {
    const { description, security, 'x-required-scope': scope } = operation('/exports/csv', 'post');
    expect(scope).toBe('analytics:read');
    expect(description).toContain('`analytics:read`');
    expect(security).toEqual([{ bearer: [] }]);
  });

  test.each([
    ['a scope and a body', { body: Type.Object({}) }, '400 401 403 413 415 429 431 500 503'],
    ['a scope and no input', {}, '400 401 403 429 431 500 503'],
    ['any token', { scope: 'any' as const }, '400 401 403 429 431 500 503'],
    ['no token', { scope: null }, '400 429 431 500 503'],
  ])('with %s documents the errors the server answers', (_name, contract, statuses) => {
    const { responses } = only(contract);
    expect(Object.keys(responses).join(' ')).toBe(`200 ${statuses}`);
    for (const status of statuses.split(' ')) {
      expect(responses[status]?.content).toEqual({
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      });
    }
  });

  test('keeps its own words for an error, and gets common ones for the shared problem', () => {
    const own = { ...problem, description: 'Held back.' };
    const { responses } = only({
      responses: { 204: { description: 'Gone.' }, 404: problem, 409: own },
    });
    expect(responses['204']?.content).toBeUndefined();
    expect(responses['404']?.description).toMatch(/no such thing/);
    expect(responses['409']?.description).toBe('Held back.');
  });

  test('that is open to all asks for no token', () => {
    expect(only({ scope: null })).toMatchObject({ security: [], 'x-required-scope': null });
  });
});
