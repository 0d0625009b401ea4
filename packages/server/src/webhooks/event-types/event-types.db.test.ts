import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../../test/receiver.ts';
import { useTestService } from '../../../test/service.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { useWorld } from '../drainer/testing/world.ts';
import { Catalogue } from './catalogue.ts';

const refusing = useWorld({ SVC_EVENT_TYPES: 'refuse' });
const warning = useTestService({ SVC_EVENT_TYPES: 'warn' });
const accepting = useTestService();
const receiver = useReceiver();

const schema = {
  type: 'object',
  required: ['score'],
  properties: { score: { $ref: '#/$defs/share' }, kind: { enum: ['a', 'b'] } },
  $defs: { share: { type: 'number', minimum: 0, maximum: 1 } },
};

type Service = Pick<typeof warning, 'call'>;
const set = (service: Service, type: string, body: object) =>
  service.call('PUT', `/webhook/event-types/${type}`, { body });
const report = (service: Service, type: string, data: unknown, more: object = {}) =>
  service.call('POST', '/incidents', { body: { tenant: 'TX', type, data, ...more } });

test('keeps what is said of a type as it was spelled, replaces it, and lists types in order', async () => {
  const body = '{"schema":{"type":"object"},"sample":{"n":9007199254740993}}';
  const made = await warning.call('PUT', '/webhook/event-types/order.paid', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  expect(made.status, made.text).toBe(200);
  const read = await warning.call('GET', '/webhook/event-types/order.paid');
  const listed = await warning.call('GET', '/webhook/event-types');
  for (const { text } of [made, read, listed]) expect(text).toContain('{"n":9007199254740993}');
  expect(made.json).toMatchObject({ type: 'order.paid', description: null, deprecated: false });
  await set(warning, 'case.opened', { description: 'a case' });
  await set(warning, 'order.paid', { deprecated: true });
  const { json } = await warning.call('GET', '/webhook/event-types?limit=1');
  expect(json.data).toMatchObject([{ type: 'case.opened', description: 'a case' }]);
  const next = await warning.call('GET', `/webhook/event-types?cursor=${json.next_cursor}`);
  expect(next.json).toMatchObject({
    data: [{ type: 'order.paid', schema: null, sample: null, deprecated: true }],
    next_cursor: null,
  });
  const audit = await warning.call('GET', '/audit?action=event_type.set');
  expect(audit.json.data[0]).toMatchObject({
    before: { deprecated: false },
    after: { deprecated: true },
  });
});

test.each([
  ['Paid', {}, 'dotted name'],
  ['svcctl.mine', {}, 'must not begin with svcctl.'],
  ['a.b', { schema: { type: 'strin' } }, '/schema/type'],
  ['a.b', { schema: { $ref: 'https://elsewhere.example/schema' } }, 'must lead to a part'],
  ['a.b', { schema: { $ref: '#/$defs/none' } }, 'must lead to a part'],
  ['a.b', { schema: { properties: { a: { $id: 'x' } } } }, 'is not taken here'],
  ['a.b', { schema: { pattern: '(' } }, 'is not a regular expression'],
  ['a.b', { schema: { $schema: 'urn:mine' } }, 'must be one of'],
  ['a.b', { schema: { $ref: '#' } }, 'has no end'],
  ['a.b', { schema: { description: 'x'.repeat(33_000) } }, 'bytes of 32768'],
  ['a.b', { schema: nested(40) }, 'more than 32 levels'],
  ['a.b', { schema: { type: 'string' }, sample: { a: 1 } }, 'does not fit the schema'],
])('refuses %s of %j', async (type, body, told) => {
  const { status, json } = await set(warning, type, body);
  expect(status).toBe(400);
  expect(`${json.errors[0].path} ${json.detail}`).toContain(told);
});

function nested(levels: number): object {
  return levels === 0 ? {} : { not: nested(levels - 1) };
}

test('a report that does not fit is accepted, warned of or refused, as the setting says', async () => {
  for (const service of [refusing, warning, accepting])
    await set(service, 'incident.scored', { schema });
  const misfits = [
    {
      type: 'incident.scoerd',
      data: { score: 1 },
      path: '/type',
      told: 'did you mean incident.scored?',
    },
    { type: 'incident.scored', data: { score: 2 }, path: '/data/score', told: '<= 1' },
    { type: 'incident.scored', data: { kind: 'a' }, path: '/data', told: 'required' },
    {
      type: 'incident.scored',
      data: { score: 1, kind: 'c' },
      path: '/data/kind',
      told: 'allowed values',
    },
  ];
  for (const { type, data, path, told } of misfits) {
    const accepted = await report(accepting, type, data);
    expect(accepted.status).toBe(202);
    expect(accepted.json.warnings).toBeUndefined();
    const warned = await report(warning, type, data);
    expect(warned.status).toBe(202);
    expect(warned.json.warnings[0]).toContain(path.slice(1));
    expect(warned.json.warnings[0]).toContain(told);
    const refused = await report(refusing, type, data);
    expect(refused.json).toMatchObject({ status: 400, errors: [{ path }] });
    expect(refused.json.detail).toContain(told);
  }
  for (const service of [refusing, warning]) {
    const fitting = await report(service, 'incident.scored', { score: 0.5, kind: 'a' });
    expect(fitting.status).toBe(202);
    expect(fitting.json.warnings).toBeUndefined();
  }
});

test('reports that come together look into the catalogue once, and again where that failed', async () => {
  await set(warning, 'come.together', {});
  let looks = 0;
  const db: Queryable = {
    query: (statement) => {
      looks += 1;
      return looks === 1 ? Promise.reject(new Error('gone')) : warning.db.query(statement);
    },
  };
  const log = { warn: () => {} };
  const catalogue = new Catalogue(db, { clock: () => 0, log, mode: 'warn' });
  const reportAll = () =>
    Promise.allSettled(
      Array.from({ length: 100 }, () => catalogue.look({ type: 'come.together', data: {} })),
    );
  expect(new Set((await reportAll()).map(({ status }) => status))).toEqual(new Set(['rejected']));
  const told = await reportAll();
  expect(told).toEqual(Array(100).fill({ status: 'fulfilled', value: [] }));
  expect(looks).toBe(2);
});

test('a type is known as soon as it is there, and a deprecated one is only warned of', async () => {
  expect((await report(refusing, 'late.added', {})).status).toBe(400);
  await set(refusing, 'late.added', { deprecated: true });
  await expect.poll(async () => (await report(refusing, 'late.added', {})).status).toBe(202);
  const { json } = await report(refusing, 'late.added', {});
  expect(json.warnings).toEqual(['type: late.added is deprecated']);
});

test('a pattern that takes for ever costs a moment, and then nothing', async () => {
  const made = await set(refusing, 'costly.pattern', {
    schema: { properties: { text: { pattern: '^(a+)+$' } } },
  });
  expect(made.status, made.text).toBe(200);
  const isKnown = async () => (await report(refusing, 'costly.pattern', {})).status;
  await expect.poll(isKnown).toBe(202);
  const hostile = { text: `${'a'.repeat(40)}!` };
  for (let n = 0; n < 3; n++) {
    expect((await report(refusing, 'costly.pattern', hostile)).status).toBe(202);
  }
});

test('a ping by a type sends its sample, and no replay takes it for a report', async () => {
  receiver.behave(() => answer(204));
  const { id } = await refusing.addEndpoint(receiver.url('/sample'));
  await refusing.call('PUT', '/webhook/event-types/order.sampled', {
    body: '{"sample":{"n":9007199254740993}}',
    headers: { 'content-type': 'application/json' },
  });
  const pinged = await refusing.call('POST', `/webhook/endpoints/${id}/ping?type=order.sampled`);
  expect(pinged.json, pinged.text).toMatchObject({ outcome: { status: 204 } });
  const [request] = receiver.requests.filter(({ path }) => path === '/sample');
  expect(String(request?.body)).toMatch(
    /^\{"type":"order.sampled","timestamp":"[^"]+","data":\{"n":9007199254740993\}\}$/,
  );
  const { json } = await refusing.call('GET', `/incidents?id=${pinged.json.id}`);
  expect(json.data).toMatchObject([{ type: 'webhook.ping' }]);
  const unknown = await refusing.call('POST', `/webhook/endpoints/${id}/ping?type=not.there`);
  expect(unknown.json).toMatchObject({ status: 404, code: 'event_type_not_found' });
  await set(refusing, 'not.sampled', {});
  const without = await refusing.call('POST', `/webhook/endpoints/${id}/ping?type=not.sampled`);
  expect(without.json).toMatchObject({ status: 400, errors: [{ path: '?type' }] });
});

test('an endpoint is warned of types that were mistyped or are deprecated', async () => {
  await set(refusing, 'order.shipped', {});
  await set(refusing, 'order.gone', { deprecated: true });
  const make = async (...event_types: string[]) => {
    const body = { tenant: 'TX', url: receiver.url(`/${event_types.join()}`), event_types };
    return (await refusing.call('POST', '/webhook/endpoints', { body })).json.warnings;
  };
  expect(await make('order.shiped', 'order.gone')).toEqual([
    expect.stringContaining('order.shiped (did you mean order.shipped?)'),
    expect.stringContaining('order.gone: deprecated'),
  ]);
  expect(await make('order.shipped', 'incident.*', 'order.*')).toEqual([]);
});

test('the description of the API has the catalogue for those who may read it', async () => {
  const sample = { score: 0.5 };
  await set(accepting, 'doc.made', { description: 'a document', schema, sample, deprecated: true });
  const open = async (token: string | null) =>
    (await accepting.call('GET', '/openapi.json', { token })).json;
  const { webhooks } = await open(accepting.adminToken);
  const { post } = webhooks['doc.made'];
  expect(post).toMatchObject({ deprecated: true, description: 'a document' });
  const headers: { name: string; required: boolean }[] = post.parameters;
  expect(headers.filter(({ required }) => !required).map(({ name }) => name)).toEqual([
    'webhook-sequence',
    'webhook-replay',
  ]);
  const { schema: body, example } = post.requestBody.content['application/json'];
  expect(example).toMatchObject({ type: 'doc.made', data: sample });
  const reference: string = body.properties.data.properties.score.$ref;
  const named = reference
    .slice(2)
    .split('/')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/'));
  const led = named.reduce<Record<string, unknown>>(
    (at, part) => at[part] as Record<string, unknown>,
    { webhooks },
  );
  expect(led).toEqual(schema.$defs.share);
  expect(await open(null)).not.toHaveProperty('webhooks');
  const { token } = await accepting.makeToken({ preset: 'pipeline' });
  expect(await open(token)).not.toHaveProperty('webhooks');
});

test('deletes a type once', async () => {
  await set(accepting, 'to.go', {});
  expect((await accepting.call('DELETE', '/webhook/event-types/to.go')).status).toBe(204);
  const again = await accepting.call('DELETE', '/webhook/event-types/to.go');
  expect(again.json).toMatchObject({ status: 404, code: 'event_type_not_found' });
  const { status } = await accepting.call('GET', '/webhook/event-types/to.go');
  expect(status).toBe(404);
});
