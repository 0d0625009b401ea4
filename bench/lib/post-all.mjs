import { connect } from 'node:net';
import { median, summary } from './measure.mjs';
import { formatCount, latencyCells, ratioCells } from './table.mjs';

/**
 * Sends one request after another on each of `clients` kept-alive connections, as many in all as `bodies` yields, and
 * reads the answers with as little work as possible: clients share the machine with what is measured. The body of
 * each answer must begin with `answer`. Answers the requests a second and each one's milliseconds.
 *
 * @param {{ origin: string, token?: string }} service
 * @param {{ path: string, bodies: Iterable<string>, clients: number, answer: string }} load
 */
export async function postAll(service, { path, bodies, clients, answer }) {
  const { host, hostname, port } = new URL(service.origin);
  const authorization =
    service.token === undefined ? '' : `authorization: Bearer ${service.token}\r\n`;
  const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${authorization}content-type: application/json\r\ncontent-length: `;
  const waiting = bodies[Symbol.iterator]();
  const millis = [];
  const startedAt = performance.now();
  const run = () =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let sentAt = 0;
      let heard = '';
      const sendNext = () => {
        const { value: body, done } = waiting.next();
        if (done) return void socket.end(() => resolve(undefined));
        sentAt = performance.now();
        heard = '';
        socket.write(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
      };
      socket.setNoDelay(true).setEncoding('latin1').on('connect', sendNext).on('error', reject);
      socket.on('close', () => reject(new Error(`the connection closed after: ${heard}`)));
      socket.on('data', (text) => {
        heard += text;
        const body = bodyOf(heard);
        if (body === null) return;
        try {
          if (!heard.startsWith('HTTP/1.1 20') || !body.startsWith(answer)) throw new Error(heard);
          millis.push(performance.now() - sentAt);
          sendNext();
        } catch (error) {
          reject(error);
          socket.destroy();
        }
      });
    });
  await Promise.all(Array.from({ length: clients }, run));
  return { perSecond: (millis.length / (performance.now() - startedAt)) * 1000, millis };
}

/** The body of an answer, one byte a character; null while something of it is missing. */
function bodyOf(heard) {
  const end = heard.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(heard.slice(0, end + 2))?.[1]);
  const body = heard.slice(end + 4);
  return body.length < length ? null : body;
}

/** The cells of ours beside a bare server: requests a second, their ratio and its goal, and the latencies of both. */
export function rateCells({ ours, bare }, goal) {
  const times = (runs) => latencyCells(summary(runs.flatMap(({ millis }) => millis)));
  return [
    ...[ours, bare].map((runs) => `${formatCount(rateOf(runs))}/s`),
    ...ratioCells(rateOf(ours) / rateOf(bare), goal),
    ...times(ours),
    ...times(bare),
  ];
}

export const rateOf = (runs) => median(runs.map(({ perSecond }) => perSecond));
