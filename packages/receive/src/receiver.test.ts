import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import { newSecret, secretBytes } from '../../server/src/webhooks/secret.ts';
import { signatureHeaders } from '../../server/src/webhooks/signature.ts';
import { hold } from '../../server/test/held-pace.ts';
import { WebhookError } from './error.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';

// It brings no types with it.
const express = createRequire(import.meta.url)('express');
const secret = newSecret();
const text = '{"type":"incident.created","timestamp":"2026-03-05T14:07:09Z","data":{"n":1}}';
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function signed(id = 'msg_1', body = text): RequestInit {
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const secrets = [secretBytes(secret)];
  return {
    method: 'POST',
    headers: signatureHeaders({ id, timestampSeconds, body, secrets }),
    body,
  };
}

/** Handles webhooks by the way `serve` makes of a receiver; answers what was handled, and what was complained of. */
function open(options: Partial<ReceiverOptions> = {}) {
  const handled: unknown[] = [];
  const errors: unknown[] = [];
  const receiver = createReceiver({
    secrets: secret,
    handle: ({ data }) => handled.push(data),
    onError: (error) => errors.push(error),
    ...options,
  });
  return { receiver, handled, errors };
}

async function listen(
  listener: (...args: Parameters<RequestListener>) => unknown,
): Promise<string> {
  const server = createServer((request, response) => {
    void listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

const codeIn = async (answer: Response) => ((await answer.json()) as { code: string }).code;

type Send = (init: RequestInit) => Promise<Response>;
const toUrl =
  (url: string): Send =>
  (init) =>
    fetch(url, init);

/** The ways to take webhooks, each as users write it. */
const ways: Record<string, (receiver: Receiver) => Promise<Send>> = {
  'node:http': async ({ node }) => toUrl(await listen(node)),
  Express: async ({ node }) => toUrl(await listen(express().all('/webhooks', node))),
  'Express with express.raw() before': async ({ node }) =>
    toUrl(
      await listen(
        express()
          .use(express.raw({ type: '*/*' }))
          .all('/webhooks', node),
      ),
    ),
  'Express with express.text() before': async ({ node }) =>
    toUrl(
      await listen(
        express()
          .use(express.text({ type: '*/*' }))
          .all('/webhooks', node),
      ),
    ),
  'Express whose parser keeps the bytes': async ({ node }) => {
    const keep = (request: { rawBody?: Buffer }, _response: unknown, bytes: Buffer) => {
      request.rawBody = bytes;
    };
    const app = express().use(express.json({ verify: keep }));
    return toUrl(await listen(app.all('/webhooks', node)));
  },
  Fastify: async (receiver) => {
    const app = fastify();
    await app.register(receiver.fastify, { path: '/webhooks' });
    ends.push(() => app.close());
    return toUrl(`${await app.listen({ port: 0, host: '127.0.0.1' })}/webhooks`);
  },
  fetch: async (receiver) => (init) => receiver.fetch(new Request('http://here/webhooks', init)),
};

describe.each(Object.entries(ways))('%s', (_name, serve) => {
  test('handles a webhook once, and answers 204 each time', async () => {
    const { receiver, handled, errors } = open();
    const send = await serve(receiver);
    for (const id of ['a', 'a', 'b']) {
      expect((await send(signed(id))).status).toBe(204);
    }
    expect(handled).toEqual([{ n: 1 }, { n: 1 }]);
    expect(errors).toEqual([]);
  });

  test('refuses what is not signed, with a code', async () => {
    const { receiver, handled, errors } = open();
    const send = await serve(receiver);
    const answers = [
      { ...signed(), body: text.replace('1', '2') },
      { ...signed(), headers: { 'content-type': 'application/json' } },
    ];
    const refused = await Promise.all(
      answers.map(async (init) => {
        const answer = await send(init);
        return [answer.status, await codeIn(answer)];
      }),
    );
    expect(refused).toEqual([
      [401, 'signature_wrong'],
      [400, 'header_missing'],
    ]);
    expect([handled, errors]).toEqual([[], []]);
  });

  test('answers 500 when the handler throws, tells its owner alone why, and takes the next attempt', async () => {
    let isBroken = true;
    const { receiver, errors } = open({
      handle: async () => {
        if (isBroken) throw new Error('private');
      },
    });
    const send = await serve(receiver);
    const failed = await send(signed());
    expect(failed.status).toBe(500);
    const answer = await failed.text();
    expect(JSON.parse(answer).code).toBe('handler_failed');
    expect(answer).not.toContain('private');
    expect(errors).toEqual([new Error('private')]);
    isBroken = false;
    expect((await send(signed())).status).toBe(204);
  });

  test('says 429 and until when, if its handler does', async () => {
    const busy = new WebhookError('busy', 'Not now', { retryAfterSeconds: 30 });
    const { receiver, errors } = open({ handle: () => Promise.reject(busy) });
    const answer = await (await serve(receiver))(signed());
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '30']);
    expect([await answer.json(), errors]).toEqual([{ code: 'busy', message: 'Not now' }, []]);
  });

  test('refuses a body over its limit, announced or not', async () => {
    const { receiver, handled } = open({ maxBytes: 100 });
    const send = await serve(receiver);
    const long = text.replace('1', '1'.padEnd(200));
    const stream = { duplex: 'half', body: new Blob([long]).stream() };
    for (const init of [signed('a', long), { ...signed('a', long), ...stream }]) {
      const answer = await send(init as RequestInit);
      expect([answer.status, await codeIn(answer)]).toEqual([413, 'body_too_large']);
    }
    expect(handled).toEqual([]);
  });
});

test('a body that is too long is refused while it still comes', async () => {
  const { receiver } = open({ maxBytes: 100 });
  const url = await listen(receiver.node);
  const start = (controller: ReadableStreamDefaultController) =>
    controller.enqueue(new Uint8Array(101));
  const init = { ...signed(), body: new ReadableStream({ start }), duplex: 'half' };
  const answer = await fetch(url, init as RequestInit);
  expect([answer.status, await codeIn(answer)]).toEqual([413, 'body_too_large']);
});

test('a body that was parsed before is named as the fault, to both sides', async () => {
  const { receiver, errors } = open();
  const parsed = express().use(express.json()).post('/webhooks', receiver.node);
  const read = new Request('http://here/', signed());
  await read.json();
  for (const answer of [await fetch(await listen(parsed), signed()), await receiver.fetch(read)]) {
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({
      code: 'body_consumed',
      message: expect.stringMatching(/read before, by .*json\(\)/),
    });
  }
  expect(errors).toMatchObject([{ code: 'body_consumed' }, { code: 'body_consumed' }]);
});

test('other routes of Fastify keep their parsers', async () => {
  const { receiver } = open();
  const app = fastify();
  await app.register(receiver.fastify, { path: '/webhooks' });
  app.post('/other', async ({ body }) => body);
  const answer = await app.inject({ method: 'POST', url: '/other', payload: { a: 1 } });
  expect(answer.json()).toEqual({ a: 1 });
  await app.close();
});

test('it answers before it has handled, if it is told to, and says what failed afterwards', async () => {
  const gate = hold();
  const { receiver, errors } = open({ answer: 'received', handle: () => gate.promise });
  const kept: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => kept.push(work) };
  const answer = await receiver.fetch(new Request('http://here/', signed()), context);
  expect(answer.status).toBe(202);
  gate.reject(new Error('later'));
  await Promise.all(kept);
  expect([kept.length, errors]).toEqual([1, [new Error('later')]]);
});

test('only POST is taken', async () => {
  const { receiver } = open();
  const answer = await receiver.fetch(new Request('http://here/'));
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
});

test('a request whose body breaks off is answered, and no fault of the handler', async () => {
  const { receiver, errors } = open();
  const body = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) });
  const init = { ...signed(), body, duplex: 'half' } as RequestInit;
  const answer = await receiver.fetch(new Request('http://here/', init));
  expect([answer.status, await codeIn(answer)]).toEqual([400, 'body_incomplete']);
  expect(errors).toEqual([]);
});

test('a secret that is none is told when the receiver is made', () => {
  expect(() => open({ secrets: 'secret' })).toThrow('whsec_');
});
