import { createServer } from 'node:http';

const recoversAfterMillis = 60_000;
const slowMillis = 800;
/** The path /limited takes this many requests a second; a sender that is faster is told to wait. */
const limitPerSecond = 2;
const retryAfterSeconds = 5;

/** What each path of the receiver does with a webhook; times are monotonic, in milliseconds. */
function createBehaviours() {
  let firstAt;
  let taken = [];
  return {
    '/well': (response) => answer(response, 204),
    '/fails': (response) => answer(response, 500, 'the receiver is broken'),
    '/hangs': () => {},
    '/gone': (response) => answer(response, 410, 'nobody lives here any more'),
    '/slow': (response) => setTimeout(() => answer(response, 200, 'at last'), slowMillis),
    '/recovers': (response, now) => {
      firstAt ??= now;
      if (now - firstAt > recoversAfterMillis) answer(response, 200, 'well again');
      else answer(response, 503, 'down for a minute');
    },
    '/limited': (response, now) => {
      taken = taken.filter((at) => now - at < 1000);
      if (taken.length < limitPerSecond) {
        taken.push(now);
        answer(response, 202);
      } else {
        answer(response, 429, 'too many', { 'retry-after': retryAfterSeconds });
      }
    },
  };
}

/** A receiver of webhooks on this machine that behaves by path. */
export async function startDemoReceiver() {
  const behaviours = createBehaviours();
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const behave = behaviours[request.url] ?? ((refused) => answer(refused, 404));
      behave(response, performance.now());
    });
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: (path) => `http://127.0.0.1:${server.address().port}${path}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(response, status, text = '', headers = {}) {
  response.writeHead(status, headers).end(text);
}
