import { Agent, createServer, request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../../bench/lib/listen.mjs';

const checkMillis = 100;
const checkTimeoutMillis = 5000;
/** Headers of one connection, which a proxy does not pass on. */
const ownHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'expect'];

/**
 * A load balancer. Requests go in turn to the processes whose `/readyz` answers 200. A request is tried at another
 * process only if nothing of it was sent to the first one; else its failure is the client's.
 */
export async function startProxy(scope) {
  const backends = [];
  /** Requests that failed, each with the backend where it did; undefined when none was ready. */
  const faults = [];
  let turn = 0;

  const pick = (tried) => {
    const ready = backends.filter((backend) => backend.isReady && !tried.has(backend));
    turn += 1;
    return ready[turn % ready.length];
  };
  const server = createServer((request, response) => {
    buffer(request).then(
      (body) => forward({ request, response, body }, new Set()),
      () => response.destroy(),
    );
  });

  function forward(exchange, tried) {
    const { request, response, body } = exchange;
    const backend = pick(tried);
    if (backend === undefined) {
      faults.push({ backend, why: 'no process was ready' });
      response.writeHead(503).end();
      return;
    }
    tried.add(backend);
    let isSent = false;
    let isOver = false;
    const sent = httpRequest(backend.url + request.url, {
      method: request.method,
      headers: { ...withoutOwn(request.headers), 'content-length': body.length },
      agent: backend.agent,
    });
    const fail = (why) => {
      if (isOver) return;
      isOver = true;
      faults.push({ backend, why: `${request.method} ${request.url}: ${why}` });
      response.destroy();
    };
    backend.inFlight.add(sent);
    sent.once('close', () => backend.inFlight.delete(sent));
    sent.once('socket', (socket) => {
      const note = () => {
        isSent = true;
        backend.sent += 1;
      };
      if (socket.connecting) socket.once('connect', note);
      else note();
    });
    sent.on('error', (error) => {
      if (isSent || isOver) return fail(error.message);
      isOver = true;
      forward(exchange, tried);
    });
    sent.once('response', (answer) => {
      response.writeHead(answer.statusCode, withoutOwn(answer.headers));
      answer.on('error', (error) => fail(error.message));
      answer.once('close', () => {
        if (!answer.complete) fail('the answer broke off');
      });
      answer.pipe(response);
    });
    sent.end(body);
  }

  async function watch(backend) {
    while (backends.includes(backend)) {
      backend.isReady = await isReady(backend.url);
      await delay(checkMillis);
    }
  }

  // Connections of clients stay open, so that only what happens behind the proxy is counted.
  server.keepAliveTimeout = 0;
  const origin = await listen(server);
  scope.defer(() => {
    backends.length = 0;
    server.closeAllConnections();
    server.close();
  });
  return {
    origin,
    faults,
    /** Begins to watch a process; what it answers says how it is. */
    add(url) {
      const agent = new Agent({ keepAlive: true });
      const backend = {
        ...{ url, agent, isReady: false, isKilled: false },
        /** Requests without an answer, and how many were ever sent. */
        ...{ inFlight: new Set(), sent: 0 },
      };
      backends.push(backend);
      void watch(backend);
      return backend;
    },
    remove(backend) {
      backends.splice(backends.indexOf(backend), 1);
      backend.agent.destroy();
    },
  };
}

async function isReady(url) {
  try {
    const signal = AbortSignal.timeout(checkTimeoutMillis);
    const response = await fetch(`${url}/readyz`, { signal });
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}

function withoutOwn(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.includes(name)));
}
