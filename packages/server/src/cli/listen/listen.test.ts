import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { ends, type RunResult, run } from '../testing/run.ts';

const key = randomBytes(32).toString('base64');
const secret = `whsec_${key}`;

type Listening = {
  url: string;
  /** Posts a signed delivery; answers the status, or what went wrong. */
  post(id: string, options?: { by?: string; body?: string }): Promise<number | string>;
  /** Ctrl-C, and all it said. */
  end(): Promise<RunResult>;
  done: Promise<RunResult>;
};

async function listen(argv: string[], isTerminal = false): Promise<Listening> {
  const interrupt = new AbortController();
  let heard = '';
  let ready: (url: string) => void = () => {};
  const url = new Promise<string>((resolve) => {
    ready = resolve;
  });
  const done = run(['listen', ...argv], {
    env: { NO_COLOR: '1' },
    isTerminal,
    signal: interrupt.signal,
    now: Date.now,
    onStderr: (text) => {
      heard += text;
      const [, found] = /Listening on (\S+)\. Ctrl-C/.exec(heard) ?? [];
      if (found !== undefined) ready(found);
    },
  });
  return {
    url: await url,
    async post(id, { by = key, body = '{"type":"incident.created"}' } = {}) {
      const at = new Date();
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(by).sign(id, at, body),
      };
      const request = { method: 'POST', headers, body, redirect: 'manual' as const };
      return fetch(await url, request).then(
        (response) => response.status,
        () => 'cut',
      );
    },
    end() {
      interrupt.abort();
      return done;
    },
    done,
  };
}

test.each([
  [['--register'], '--register needs --tenant'],
  [['--register', '--tenant', 'TX', '--secret', secret], 'give either --register or --secret'],
  [['--secret', 'hello'], 'it is not whsec_'],
  [['--mode', 'sulk'], 'Allowed choices are ok, fail'],
  [['--status', '700'], 'not a status'],
  [['--delay', '2'], 'not a time such as 500ms'],
  [['--once', '0'], 'not a whole number from 1'],
  [['--json', 'nothing'], 'there is no field'],
])('listen %j is a usage error', async (argv, message) => {
  await ends(run(['listen', ...argv]), 2, [message]);
});

test('listen prints a line for each delivery, knows duplicates and wrong signatures, and sums up', async () => {
  const listening = await listen(['--secret', secret], true);
  expect(await listening.post('msg_aaaaaaaaaa0001')).toBe(204);
  expect(await listening.post('msg_aaaaaaaaaa0001')).toBe(204);
  expect(
    await listening.post('msg_aaaaaaaaaa0002', { by: randomBytes(32).toString('base64') }),
  ).toBe(204);
  const { code, stdout, stderr } = await listening.end();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^AT \(UTC\) {2}ID {8}SIGNATURE {2}SEEN {7}ANSWERED {2}TYPE\n[\d:]{8} {2}msg…0001 {2}✓ {10}new {8}204 {7}incident\.created\n/,
  );
  expect(stdout).toMatch(/msg…0001 {2}✓ {10}duplicate {2}204/);
  expect(stdout).toMatch(/msg…0002 {2}✗ wrong signature {2}new/);
  expect(stderr).toContain(
    '3 deliveries · 2 verified, 1 not · 1 duplicate · 3 accepted, 0 failed\n',
  );
});

test.each([
  [['--mode', 'fail'], 500],
  [['--status', '503'], 503],
  [['--mode', 'redirect'], 302],
  [['--mode', 'gone'], 410],
  [['--mode', 'reset'], 'cut'],
])('listen %j answers %j', async (argv, status) => {
  const listening = await listen([...argv, '--once', '--json']);
  expect(await listening.post('msg_1')).toBe(status);
  const { code, stdout } = await listening.done;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([{ id: 'msg_1', verified: null, duplicate: false }]);
});

test('listen hangs until the other side gives up or it is ended', async () => {
  const listening = await listen(['--mode', 'hang']);
  const posted = listening.post('msg_1');
  const givenUp = new AbortController();
  const abandoned = fetch(listening.url, { method: 'POST', signal: givenUp.signal, body: '{}' });
  givenUp.abort();
  await expect(abandoned).rejects.toThrow();
  const { code } = await listening.end();
  expect(code).toBe(0);
  expect(await posted).toBe('cut');
});

test('listen fails as often as it is told, then accepts', async () => {
  const listening = await listen(['--fail-first', '2', '--once', '3', '--ndjson']);
  const statuses = [];
  for (const id of ['a', 'b', 'c']) statuses.push(await listening.post(id));
  expect(statuses).toEqual([500, 500, 204]);
  const lines = (await listening.done).stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).answered)).toEqual(['500', '500', '204']);
});

test('a bomb is small on the wire', async () => {
  const listening = await listen(['--mode', 'bomb', '--once']);
  const response = await fetch(listening.url, { method: 'POST', body: '{}' });
  expect(response.headers.get('content-encoding')).toBe('gzip');
  const text = await response.text();
  expect(text).toHaveLength(64 * 1024 * 1024);
  await listening.done;
});

test('only a POST is a delivery, and JSON is valid when none came', async () => {
  const listening = await listen(['--json']);
  expect((await fetch(listening.url)).status).toBe(405);
  const { code, stdout, stderr } = await listening.end();
  expect({ code, stdout }).toEqual({ code: 0, stdout: '[]\n' });
  expect(stderr).toContain('0 deliveries · signatures not checked');
});

test('what a delivery says of itself cannot reach the terminal as an escape sequence', async () => {
  const listening = await listen(['--once']);
  await listening.post('msg_1', { body: '{"type":"a\\u001b[31mb"}' });
  expect((await listening.done).stdout).not.toContain('\u001b');
});

test('a port that is taken is a usage error', async () => {
  const listening = await listen([]);
  const { port } = new URL(listening.url);
  await ends(run(['listen', '--port', port]), 2, ['cannot be listened on']);
  await listening.end();
});
