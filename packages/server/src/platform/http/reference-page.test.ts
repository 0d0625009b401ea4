import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { apiContract, rejectCodes } from '../../contract.ts';
import { errorCatalogue } from '../../kernel/errors.ts';
import type { RouteContract } from './contract.ts';
import { buildOpenApi, type Schema } from './openapi.ts';
import { describeOperations, typeText } from './reference-model.ts';
import { html, inlineCode, referenceCss, renderReferencePage } from './reference-page.ts';
import { problem } from './schemas.contract.ts';
import { faultCodes } from './validate.ts';

const codes = { errors: errorCatalogue, faultCodes, rejectCodes };

function pageOf(contracts: readonly RouteContract[]): string {
  return renderReferencePage(buildOpenApi(contracts, { version: '1.2.3' }), codes);
}

const contracts: readonly RouteContract[] = Object.values(apiContract);
const page = pageOf(contracts);
const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);

const route: RouteContract = {
  id: 'retryThing',
  method: 'POST',
  path: '/things/:id/retry',
  tag: 'Things',
  summary: 'Retry <b>a thing</b>',
  description: 'At `once` & "now".',
  scope: 'admin',
  body: Type.Object({
    tenant: Type.String(),
    note: Type.String(),
    rate: Type.Optional(Type.Integer({ default: 5 })),
  }),
  responses: { 202: { description: 'Queued.' }, 409: { ...problem, description: 'It is gone.' } },
};

describe('the page', () => {
  test('holds every operation', () => {
    for (const { id, method } of contracts) {
      expect(ids).toContain(`op-${id}`);
      expect(page).toContain(`<b>${method}</b>`);
    }
  });

  test('has an anchor for every error code: problem documents link there', () => {
    expect(ids).toEqual(expect.arrayContaining(Object.keys(errorCatalogue)));
  });

  test('holds every fault code and reject code', () => {
    for (const code of Object.keys(faultCodes)) expect(ids).toContain(`fault-${code}`);
    for (const code of Object.keys(rejectCodes)) expect(ids).toContain(`reject-${code}`);
  });

  test('uses no id twice, and no link of it leads nowhere', () => {
    expect(ids.length).toBe(new Set(ids).size);
    const targets = [...page.matchAll(/ href="#([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toEqual(expect.arrayContaining(targets));
  });

  test('loads nothing but its stylesheet', () => {
    expect(page).not.toMatch(/<script|<style|<img| style=| on\w+=|https?:\/\/(?!127\.0\.0\.1)/);
    expect(page.match(/<link /g)).toHaveLength(1);
    expect(referenceCss).not.toMatch(/url\(|@import/);
  });

  test('escapes what contracts say', () => {
    const text = pageOf([route]);
    expect(text).not.toContain('<b>a thing</b>');
    expect(text).toContain('Retry &lt;b&gt;a thing&lt;/b&gt;');
    expect(text).toContain('At <code>once</code> &amp; &quot;now&quot;.');
  });

  test('explains an error that means something else here', () => {
    expect(pageOf([route])).toContain('<b>409</b> It is gone.');
  });
});

describe('an example', () => {
  const exampleOf = (contract: RouteContract) =>
    describeOperations(buildOpenApi([contract], { version: '1' }))[0]?.example;

  test('holds the path, the token and a body of what is required', () => {
    expect(exampleOf(route)).toBe(
      [
        'curl -sS -X POST "$SVC_URL/api/v1/things/$ID/retry" \\',
        '  -H "Authorization: Bearer $SVC_TOKEN" \\',
        '  -H "Content-Type: application/json" \\',
        `  -d '{"tenant":"TX","note":"…"}'`,
      ].join('\n'),
    );
  });

  test('shows filters that are known by name, coded for a URL', () => {
    const query = Type.Object({
      occurred_at: Type.Optional(Type.String()),
      q: Type.Optional(Type.String()),
      limit: Type.Integer({ minimum: 1 }),
    });
    const { body: _body, ...rest } = route;
    const call = exampleOf({ ...rest, method: 'GET', path: '/things', scope: null, query });
    expect(call).toBe(
      'curl -sS "$SVC_URL/api/v1/things?occurred_at=2026-03-05T14%3A07%3A09.123456Z&limit=1"',
    );
  });

  test('writes what is not JSON to a file', () => {
    const csv = { description: 'Rows.', mediaType: 'text/csv', schema: Type.String() };
    expect(exampleOf({ ...route, responses: { 200: csv } })).toMatch(/-o answer\.csv$/);
  });
});

test.each<[Schema, string]>([
  [{ type: 'string' }, 'string'],
  [{ type: 'string', maxLength: 4000 }, 'string, ≤ 4,000 characters'],
  [{ type: 'string', format: 'date-time' }, 'time'],
  [{ type: 'integer', minimum: 1, maximum: 500, default: 100 }, 'integer 1–500, default 100'],
  [{ type: 'array', minItems: 1, items: { enum: ['a', 'b'] } }, 'array (≥ 1) of a | b'],
  [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, 'number or null'],
  [{}, 'any value'],
])('%o reads "%s"', (schema, text) => {
  expect(typeText(schema)).toBe(text);
});

test('html escapes all but Html, and leaves out what is nothing', () => {
  const values = ['<', html`<i>${'"'}</i>`, null, undefined, false, 0] as const;
  expect(html`<p>${values}</p>`.html).toBe('<p>&lt;<i>&quot;</i>0</p>');
  expect(inlineCode('a `<b>` c').html).toBe('a <code>&lt;b&gt;</code> c');
});
