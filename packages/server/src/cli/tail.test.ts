import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { prepareCli, refusesUsage } from './testing/prepare-cli.ts';
import { problem } from './testing/receiver.ts';
import { ends, nowMillis } from './testing/run.ts';

const { api, cli } = prepareCli();
const route = 'GET /enrichment/records/tail';

const record = (id: string) => `{"tenant":"TX","store":"DFW","event_id":"${id}","confidence":0.10}`;
const event = (n: number) => `id: c${n}\ndata: ${record(`e${n}`)}\n\n`;
const place = 'id: c0\nevent: place\ndata: {}\n\n';
const endOf = (code: string) =>
  `event: end\ndata: ${JSON.stringify({ code, detail: 'It stops.', after: 'c9' })}\n\n`;

/** Answers each call with the next of these, which end a stream, or cut it. */
function answerWith(...answers: ((response: ServerResponse) => void)[]): void {
  api.on(route, (request, response) => {
    const next = answers.shift();
    if (next === undefined) problem(401, 'token_revoked', 'It was revoked.')(request, response);
    else next(response);
  });
}
const stream =
  (...texts: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(texts.join(''));
  };
const cut =
  (...texts: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(texts.join(''), () => response.destroy());
  };
const afters = () => api.requests.map(({ query }) => query.after);

test('prints each record once, whatever cuts the stream', async () => {
  answerWith(
    cut(place, event(1), 'id: c2\ndata: {"tena'),
    (response) => response.destroy(),
    (response) => problem(503, 'overloaded', 'Later.')(undefined, response),
    stream(event(2), event(3), endOf('not_ready')),
    cut(place.replace('c0', 'c7')),
    stream(event(8)),
  );
  const { stdout, stderr } = await ends(
    cli('records tail --tenant TX --ndjson --since 10m'),
    4,
    /^/,
  );
  expect(stdout).toBe(['e1', 'e2', 'e3', 'e8'].map((id) => `${record(id)}\n`).join(''));
  expect(afters()).toEqual([undefined, 'c1', 'c1', 'c1', 'c3', 'c7', 'c8']);
  expect(api.requests[0]?.query).toEqual({
    tenant: 'TX',
    follow: 'true',
    since: new Date(nowMillis - 600_000).toISOString(),
  });
  expect(stderr).toContain('It goes on.');
  expect(stderr).toContain('token_revoked');
});

test('prints a record with the separators of lines and paragraphs of Unicode', async () => {
  const odd = record('a\u2028b\u2029c');
  answerWith(stream(place, `id: c1\ndata: ${odd}\n\n`));
  await ends(cli('records tail --tenant TX --ndjson'), 4, `${odd}\n`);
  expect(afters()).toEqual([undefined, 'c1']);
});

test('ends with what is stored now, as JSON of the records as they were sent', async () => {
  answerWith(cut(event(1)), stream(event(2), place));
  const { stdout } = await ends(cli('records tail --tenant TX --no-follow --json'), 0);
  expect(stdout).toBe(`[\n${record('e1')},\n${record('e2')}\n]\n`);
  answerWith(stream(place));
  expect((await cli('records tail --tenant TX --no-follow --json event_id')).stdout).toBe('[]\n');
});

test('Ctrl-C ends it, and says how to go on', async () => {
  const interrupt = new AbortController();
  answerWith((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(1));
  });
  const { stdout, stderr } = await ends(
    cli('records tail --tenant TX --store DFW', {
      isTerminal: true,
      signal: interrupt.signal,
      onStdout: () => interrupt.abort(),
    }),
    0,
  );
  expect(stdout).toContain('e1');
  expect(stderr).toContain(
    '1 record · go on: svcctl records tail --tenant TX --store DFW --after c1',
  );
});

test('a service that is away, or refuses, is told of at once', async () => {
  answerWith();
  await ends(cli('records tail --tenant TX'), 4, ['token_revoked']);
  answerWith((response) => response.destroy());
  await ends(cli('records tail --tenant TX'), 5, ['service_unreachable']);
});

refusesUsage(api, [
  ['records tail --tenant TX --since 1h --after c1', 'ive either --since or --after'],
  ['records tail --tenant TX --from 2026-03-05', '--from and --to need each other'],
]);
