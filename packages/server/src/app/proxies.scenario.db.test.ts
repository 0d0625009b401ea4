import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request as requestPlain, type ServerResponse } from 'node:http';
import { request as requestTls } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen } from '../../test/listen.ts';
import { makeCertificate } from '../../test/receiver.ts';
import { useTestService } from '../../test/service.ts';

// The files of deploy/proxies/, as they stand there but for ports and places, before a service.

const host = 'svcctl.example';
/** Where callers come from: not the address of the proxy, which the service trusts. */
const callerAddress = '127.0.0.5';
const files = new URL('../../../../deploy/proxies/', import.meta.url);

/** A proxy: its file, the program and how it is started in the foreground with a file. */
type Proxy = {
  readonly file: string;
  readonly program: string;
  readonly version: string;
  readonly args: (path: string, folder: string) => string[];
  /** What stands around the file, or is said to the program otherwise. */
  readonly wrap: (text: string, ports: Ports, folder: string) => string;
};
type Ports = { readonly http: number; readonly https: number };

const asRoot = process.getuid?.() === 0 ? 'user root;' : '';
const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    file: 'nginx.conf',
    program: process.env.SVC_TEST_NGINX ?? 'nginx',
    version: '-v',
    args: (path, folder) => ['-p', folder, '-e', 'stderr', '-c', path],
    wrap: (text, { http, https }) => `
      ${asRoot} daemon off; worker_processes 1; pid nginx.pid;
      events {}
      http {
        access_log off;
        client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi; scgi_temp_path scgi;
        ${exchange(text, { 'listen 80': `listen 127.0.0.1:${http}`, 'listen 443': `listen 127.0.0.1:${https}` })}
      }`,
  },
  caddy: {
    file: 'Caddyfile',
    program: process.env.SVC_TEST_CADDY ?? 'caddy',
    version: 'version',
    args: (path) => ['run', '--adapter', 'caddyfile', '--config', path],
    wrap: (text, { http, https }) =>
      `{\nadmin off\npersist_config off\ndefault_bind 127.0.0.1\nhttp_port ${http}\nhttps_port ${https}\n}\n${text}`,
  },
  haproxy: {
    file: 'haproxy.cfg',
    program: process.env.SVC_TEST_HAPROXY ?? 'haproxy',
    version: '-v',
    args: (path) => ['-db', '-f', path],
    wrap: (text, { http, https }) =>
      exchange(text, {
        'bind :80': `bind 127.0.0.1:${http}`,
        'bind :443': `bind 127.0.0.1:${https}`,
      }),
  },
};

const service = useTestService({
  SVC_TRUSTED_PROXIES: '127.0.0.1/32',
  SVC_INGEST_MAX_RECORDS: '1000',
  SVC_EXPORT_STALL_SECONDS: '1',
});
const { key, cert } = makeCertificate([host]);

const isThere = ({ program, version }: Proxy) => spawnSync(program, [version]).error === undefined;
const found = Object.keys(proxies).filter((name) => isThere(proxies[name] as Proxy));

test('which proxies are not there is told', () => {
  const missing = Object.keys(proxies).filter((name) => !found.includes(name));
  if (missing.length > 0) console.warn(`Not there, and so not tried: ${missing.join(', ')}.`);
});

/**
 * Of 60 MB: more than the system holds between the service and a reader that has stopped, which may be 32 MB for each of
 * two connections.
 */
const large = record('LARGE', 'r', 'x'.repeat(250_000));
beforeAll(async () => {
  if (found.length === 0) return;
  const lines = Array.from({ length: 240 }, (_, n) =>
    JSON.stringify({ ...large, event_id: `r${n}` }),
  );
  const { status } = await service.call('POST', '/enrichment/records', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
  expect(status).toBe(200);
});

describe.each(found)('behind %s', (name) => {
  let child: ChildProcess;
  const output: unknown[] = [];
  let folder: string;
  let ports: Ports;
  beforeAll(async () => {
    const proxy = proxies[name] as Proxy;
    folder = await mkdtemp(join(tmpdir(), 'svcctl-proxy-'));
    ports = { http: await findPort(), https: await findPort() };
    await writeFile(join(folder, 'fullchain.pem'), cert);
    await writeFile(join(folder, 'privkey.pem'), key);
    await writeFile(join(folder, 'all.pem'), cert + key);
    const text = exchange(await readFile(new URL(proxy.file, files), 'utf8'), {
      '127.0.0.1:8080': new URL(service.url).host,
      '/etc/svcctl/tls': folder,
    });
    const path = join(folder, proxy.file);
    await writeFile(path, proxy.wrap(text, ports, folder));
    child = spawn(proxy.program, proxy.args(path, folder), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text) => output.push(text));
  });
  afterAll(async () => {
    if (child?.exitCode === null && child.kill()) await once(child, 'exit');
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  type Headers = Readonly<Record<string, string>>;
  /** Begins a request through the proxy, as the admin unless it is a browser's; the caller ends it. */
  function open(method: string, path: string, headers: Headers = {}) {
    const isBrowser = 'origin' in headers;
    const token = isBrowser ? {} : { authorization: `Bearer ${service.adminToken}` };
    return requestTls({
      host: '127.0.0.1',
      port: ports.https,
      servername: host,
      ca: cert,
      agent: false,
      localAddress: callerAddress,
      method,
      path,
      headers: { host, ...token, ...headers },
    });
  }
  async function call(method: string, path: string, headers: Headers = {}, body?: unknown) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = open(method, path, { ...type, ...headers });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const text = await textOf(answer);
    const { statusCode: status, headers: told, trailers } = answer;
    return { status, headers: told, trailers, text };
  }

  test('it takes its file, and finds the service', async () => {
    await expect
      .poll(async () => {
        if (child.exitCode !== null) return `${name} has ended: ${output.join('')}`;
        return call('GET', '/readyz').then(
          ({ status }) => status,
          () => 0,
        );
      })
      .toBe(200);
  });

  test('a session is told to the right caller, by a cookie for https alone', async () => {
    const browser = { origin: `https://${host}`, 'sec-fetch-site': 'same-origin' };
    const lies = { 'x-forwarded-for': '6.6.6.6', 'x-forwarded-proto': 'http' };
    const { status, headers } = await call(
      ...(['POST', '/api/v1/session', { ...browser, ...lies }] as const),
      { token: service.adminToken },
    );
    expect(status).toBe(200);
    expect(headers['set-cookie']?.[0]).toMatch(/^__Host-svc_session=\w{43};.* Secure$/);
    const entries = await service.call('GET', '/audit?action=session.open&limit=1');
    expect(entries.json.data[0].address).toBe(callerAddress);
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const write = (origin: string) =>
      call('POST', '/api/v1/exports/csv', { ...browser, origin, cookie }, { tenant: 'NONE' });
    expect((await write(`https://${host}`)).status).toBe(200);
    expect((await write('https://other.example')).status).toBe(403);
  });

  test('an upload passes as it comes, and may be large', async () => {
    const tenant = `UP-${name}`;
    const lines = Array.from({ length: 4000 }, (_, n) =>
      JSON.stringify(record(tenant, `e${n}`, 'x'.repeat(1000))),
    );
    const type = { 'content-type': 'application/x-ndjson' };
    const sent = open('POST', '/api/v1/enrichment/records', type);
    sent.write(`${lines.slice(0, 3000).join('\n')}\n`);
    // The rest is held back until the service has stored what came.
    const stored = async () =>
      (await service.call('GET', `/enrichment/records?tenant=${tenant}&limit=1`)).json.data.length;
    await expect.poll(stored).toBe(1);
    sent.end(lines.slice(3000).join('\n'));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(JSON.parse(await textOf(answer))).toMatchObject({
      accepted: lines.length,
      rejected: [],
    });
    const te = { te: 'trailers', connection: 'close, TE' };
    const file = await call('POST', '/api/v1/exports/ndjson', te, { tenant });
    expect(file.text.trimEnd().split('\n')).toHaveLength(lines.length);
    const digest = createHash('sha256').update(file.text).digest('base64');
    // nginx passes no trailer on by default.
    expect(file.trailers['repr-digest']).toBe(name === 'nginx' ? undefined : `sha-256=:${digest}:`);
  });

  test('an export waits for its reader, and nobody gathers it on the way', async () => {
    const answered = nextAnswer('/api/v1/exports/ndjson');
    const type = { 'content-type': 'application/json' };
    const sent = open('POST', '/api/v1/exports/ndjson', type);
    sent.end(JSON.stringify({ tenant: 'LARGE' }));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    // Nothing of it is read until the service has ended it.
    expect(await answered).toBe('given up');
    const ended = await textOf(answer).then(
      () => 'whole',
      () => 'cut',
    );
    expect(ended).toBe('cut');
  });

  test('what a tail tells comes at once', async () => {
    const tenant = `TAIL-${name}`;
    const sent = open('GET', `/api/v1/enrichment/records/tail?tenant=${tenant}`);
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let seen = '';
    answer.setEncoding('utf8').on('data', (text: string) => {
      seen += text;
    });
    for (const id of ['first', 'second']) {
      const body = { records: [record(tenant, id, 'x')] };
      expect((await service.call('POST', '/enrichment/records', { body })).status).toBe(200);
      await expect.poll(() => seen).toContain(`"event_id":"${id}"`);
    }
    answer.destroy();
  });

  test('callers without TLS are led to it, and the metrics are for those inside', async () => {
    const sent = requestPlain({
      host: '127.0.0.1',
      port: ports.http,
      path: '/api/v1/me?a=b',
      headers: { host },
    });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await textOf(answer);
    expect(answer.statusCode).toBe(308);
    expect(answer.headers.location).toMatch(/^https:\/\/svcctl\.example(:\d+)?\/api\/v1\/me\?a=b$/);
    expect((await call('GET', '/metrics')).status).toBe(404);
  });
});

/** How the service itself ends its next answer to this path. */
function nextAnswer(path: string): Promise<'sent' | 'given up'> {
  const channel = 'http.server.request.start';
  return new Promise((resolve) => {
    const see = (message: unknown) => {
      const { request, response } = message as {
        request: IncomingMessage;
        response: ServerResponse;
      };
      if (request.url !== path) return;
      unsubscribe(channel, see);
      response.on('close', () => resolve(response.writableFinished ? 'sent' : 'given up'));
    };
    subscribe(channel, see);
  });
}

function record(tenant: string, event_id: string, text: string) {
  return {
    tenant,
    store: 'S',
    event_id,
    occurred_at: '2026-03-05T00:00:00Z',
    enrichment: { text },
  };
}

/** Replaces each of these words, which must be there. */
function exchange(text: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((changed, [word, other]) => {
    if (!changed.includes(word)) throw new Error(`the file has no "${word}"`);
    return changed.replaceAll(word, other);
  }, text);
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  return text;
}

async function findPort(): Promise<number> {
  const { port, close } = await listen(createServer());
  await close();
  return port;
}
