import { createHmac, hash } from 'node:crypto';
import { createServer } from 'node:http';
import { listen } from '../bench/lib/listen.mjs';

/** How the receivers of a tenant behave; the first part of the path says which. Healed, all answer 204. */
export const behaviours = ['ok', 'late', 'flaky', 'failing', 'throttled', 'drip', 'cut', 'slow'];
const throttledPerSecond = 20;

/**
 * One server for all endpoints, which notes for each webhook-id what came: `/BEHAVIOUR/NUMBER`.
 *
 * @param {{ defer: (closer: () => unknown) => void }} scope
 * @param {(path: string) => string[] | null} secretsOf the secrets that may have signed for this path; null when they
 *   are not known
 */
export async function startReceiver(scope, secretsOf) {
  /** @type {Map<string, { bodyHash: string, path: string, requests: number, accepted: number, times: number[],
   *   sequence: number, firstAt: number, answeredAt: number, faults: string[] }>} */
  const seen = new Map();
  let isHealed = false;
  let [isDown, slowMillis] = [false, 0];
  let [second, taken] = [0, 0];

  const server = createServer((request, response) => {
    if (isDown) return void request.socket.resetAndDestroy();
    // A request that breaks off has come to nothing: its sender was killed.
    take(request, response).catch(() => {});
  });
  server.on('clientError', (_error, socket) => socket.destroy());

  async function take(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const id = request.headers['webhook-id'];
    // Bodies of 200 KB are many, and one is only compared with the next.
    const bodyHash = hash('md5', body);
    const noted = seen.get(id) ?? {
      ...{ bodyHash, path: request.url, requests: 0, accepted: 0, times: [], faults: [] },
      ...{ sequence: Number(request.headers['webhook-sequence']), firstAt: performance.now() },
      answeredAt: Infinity,
    };
    seen.set(id, noted);
    noted.requests += 1;
    if (noted.bodyHash !== bodyHash) noted.faults.push(`${id} came with another body`);
    if (noted.path !== request.url)
      noted.faults.push(`${id} came to ${noted.path} and ${request.url}`);
    const secrets = secretsOf(request.url);
    if (secrets !== null && !isSigned(request.headers, body, secrets)) {
      noted.faults.push(`${id} is not signed by a secret of its endpoint`);
    }
    const answer = (status, headers) => {
      noted.answeredAt = Math.min(noted.answeredAt, performance.now());
      return response.writeHead(status, headers);
    };
    // It has taken the event, whether or not its answer arrives.
    const accept = (millis = 0) => {
      noted.accepted += 1;
      noted.times.push(performance.now());
      setTimeout(() => answer(204).end(), millis + slowMillis);
    };
    const behaviour = isHealed ? 'ok' : request.url.split('/')[1];
    if (behaviour === 'late') return accept(Math.random() * 1500);
    if (behaviour === 'slow') return accept(300);
    if (behaviour === 'failing') return void response.writeHead(500).end('not now');
    if (behaviour === 'flaky' && Math.random() < 0.4) return flake(request, response);
    if (behaviour === 'throttled' && isTooMuch()) {
      return void response.writeHead(429, { 'retry-after': '1' }).end('too much');
    }
    if (behaviour === 'drip' || behaviour === 'cut') {
      noted.accepted += 1;
      noted.times.push(performance.now());
      answer(200, { 'content-length': '100' }).write('.');
      setTimeout(() => response.destroy(), behaviour === 'cut' ? 10 : 3000);
      return;
    }
    accept();
  }

  function flake(request, response) {
    if (Math.random() < 0.5) response.writeHead(503).end('not now');
    else request.socket.resetAndDestroy();
  }

  function isTooMuch() {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, taken] = [now, 0];
    taken += 1;
    return taken > throttledPerSecond;
  }

  const origin = await listen(server);
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    seen,
    url: (path) => `${origin}${path}`,
    heal: (is) => {
      isHealed = is;
    },
    down: (is) => {
      isDown = is;
    },
    slow: (millis) => {
      slowMillis = millis;
    },
  };
}

/** Whether one of these secrets made one of the signatures, as Standard Webhooks has it. */
export function isSigned(headers, body, secrets) {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const given = String(headers['webhook-signature']).split(' ');
  return secrets.some((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return given.includes(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  });
}
