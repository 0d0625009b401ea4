import { STATUS_CODES } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import type { FailureClass } from '../values.ts';
import { createAddressRule, createLookup, type Lookup } from './address.ts';
import { AnswerBody } from './answer-body.ts';
import {
  type ConnectionPool,
  createConnectionPool,
  type EndpointConnection,
  type Origin,
  type OwnTls,
} from './connection-pool.ts';
import { parseProxy } from './egress-proxy.ts';
import { AttemptFault, exchangeFault, isClosed, tidyText } from './fault.ts';

/** Sends requests to receivers. */
export type Sender = {
  /** Makes one attempt. Never rejects: failures are in the result. */
  send(request: Request): Promise<AttemptResult>;
  /** Ends the attempts that are under way; their results say so (`isCut`). */
  cut(): void;
  /** Closes idle connections and resolves when the attempts under way have ended. */
  close(): Promise<void>;
};

export type SenderOptions = {
  /** The time limit for a whole attempt: look-up, connection, TLS, headers and body. A request may have a shorter one. */
  readonly timeoutMillis: number;
  /** CIDRs that are allowed although they are special. http may be used only for addresses inside them. */
  readonly allowTargets: readonly string[];
  readonly lookup?: Lookup;
  /** How many idle connections are kept for later requests, over all receivers; 1000 by default. */
  readonly maxIdle?: number;
  /** PEM certificates to trust instead of Node's own list. */
  readonly ca?: string;
  /** A proxy through which all receivers are reached, as http://user:password@host:port. */
  readonly proxy?: string | undefined;
  readonly clock?: Clock;
};

/** Creates a sender with keep-alive connections. The caller decides how many requests are under way at once. */
export function createSender(options: SenderOptions): Sender {
  const pool = createConnectionPool({
    rule: createAddressRule(options.allowTargets),
    lookup: options.lookup ?? createLookup(),
    ca: options.ca,
    proxy: options.proxy === undefined ? undefined : parseProxy(options.proxy),
    maxIdle: options.maxIdle ?? 1000,
  });
  const { timeoutMillis, clock = systemClock } = options;
  const attemptOptions = { pool, timeoutMillis, clock };
  const underWay = new Set<Attempt>();
  const waiting: (() => void)[] = [];
  return {
    send(request) {
      return new Promise((resolve) => {
        const finish = (result: AttemptResult) => {
          resolve(result);
          underWay.delete(attempt);
          if (underWay.size === 0) for (const wake of waiting.splice(0)) wake();
        };
        const attempt = new Attempt(attemptOptions, request, finish);
        underWay.add(attempt);
        attempt.start();
      });
    },
    cut() {
      for (const attempt of underWay) attempt.cut();
    },
    async close() {
      pool.close();
      if (underWay.size > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

type AttemptOptions = {
  readonly pool: ConnectionPool;
  readonly timeoutMillis: number;
  readonly clock: Clock;
};

type Resolve = (result: AttemptResult) => void;

/** How many interim answers (1xx) a receiver may send before the final one. */
const mostInterim = 20;
/** An attempt that ends so much later than its time limit was slept through: this process stood still. */
const oversleptMillis = 1000;

/**
 * One attempt, from the look-up to the end of the answer, under one time limit. It calls `resolve` exactly once and
 * never throws. It is its own handler, since undici's `request()` makes a stream and many closures for each request.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #options: AttemptOptions;
  readonly #request: Request;
  readonly #resolve: Resolve;
  readonly #timeoutMillis: number;
  readonly #startedAt = performance.now();
  #target: (Origin & { readonly path: string }) | null = null;
  #timer: NodeJS.Timeout | undefined;
  #connection: EndpointConnection | null = null;
  #abort: ((error?: Error) => void) | null = null;
  /** The connection has carried a request before, so it may have been closed by the receiver while it was idle. */
  #isReused = false;
  /** The first bytes of an answer have come. Then the request is not sent again over another connection. */
  #hasAnswerBegun = false;
  #isSettled = false;
  #isCut = false;
  #interimCount = 0;
  #status: number | null = null;
  #reason = '';
  #retryAfter: string | null = null;
  #location: string | null = null;
  #body: AnswerBody | null = null;

  constructor(options: AttemptOptions, request: Request, resolve: Resolve) {
    this.#options = options;
    this.#request = request;
    this.#resolve = resolve;
    this.#timeoutMillis = Math.min(
      options.timeoutMillis,
      request.timeoutMillis ?? options.timeoutMillis,
    );
  }

  /** Begins the attempt. An error here, such as a URL that cannot be sent to, is a result like any other. */
  start(): void {
    try {
      this.#target = parseOrigin(this.#request, this.#timeoutMillis);
      this.#timer = setTimeout(runOut, this.#timeoutMillis, this);
      this.#dispatch(this.#options.pool.take(this.#target));
    } catch (error) {
      this.#settle(exchangeFault(error));
    }
  }

  runOut(): void {
    if (!this.#isSettled) this.#breakOff(this.#timeoutFault());
  }

  /** Ends the attempt now, because the service stops. A status that has come counts; else it was cut. */
  cut(): void {
    if (this.#isSettled) return;
    this.#isCut = this.#status === null;
    this.#breakOff(new AttemptFault('reset', 'The service stops and has ended the attempt'));
  }

  /** Is called by undici when the request is about to be written to a connection. */
  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    this.#isReused = (this.#connection?.exchanges ?? 0) > 0;
    if (this.#isSettled) {
      abort();
      return;
    }
    this.#connection?.interim.begin();
    this.#request.onSent?.();
  }

  onResponseStarted(): void {
    this.#hasAnswerBegun = true;
  }

  onHeaders(status: number, headers: Buffer[], _resume: () => void, reason: string): boolean {
    if (status < 200) return this.#passInterim();
    this.#status = status;
    this.#reason = reason;
    this.#retryAfter = lastValueOf(headers, 'retry-after');
    this.#location = lastValueOf(headers, 'location');
    this.#body = new AnswerBody(lastValueOf(headers, 'content-encoding'));
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#isSettled) return false;
    // No fault: the status decides, and the rest of a long body is simply not read.
    if (this.#body?.add(chunk) !== false) return true;
    this.#breakOff(null);
    return false;
  }

  onComplete(): void {
    if (this.#isSettled || this.#connection === null) return;
    this.#options.pool.release(this.#connection);
    this.#settle(null);
  }

  onError(last: Error): void {
    if (this.#isSettled) return;
    const connection = this.#connection;
    const error = connection?.error ?? last;
    if (connection !== null) this.#options.pool.discard(connection);
    // The receiver closed an idle connection at the moment it was taken into use, so the request is sent once more over
    // a new one. If the receiver had read it all the same, it sees the same webhook-id twice, as it may after any
    // failed attempt.
    if (this.#isReused && !this.#hasAnswerBegun && isClosed(error) && this.#target !== null) {
      this.#dispatch(this.#options.pool.open(this.#target));
      return;
    }
    this.#settle(exchangeFault(error));
  }

  #dispatch(connection: EndpointConnection): void {
    const { body, headers } = this.#request;
    this.#connection = connection;
    this.#abort = null;
    this.#isReused = false;
    const path = this.#target?.path ?? '/';
    connection.client.dispatch({ method: 'POST', path, headers, body }, this);
  }

  /** Counts an answer such as 100 Continue or 103 Early Hints, which is not the final one. */
  #passInterim(): boolean {
    this.#interimCount += 1;
    if (this.#interimCount <= mostInterim) return true;
    const text = `The receiver sent more than ${mostInterim} interim answers`;
    this.#breakOff(new AttemptFault('protocol', text));
    return false;
  }

  /** Ends the attempt and its connection: the rest of the answer would otherwise be read as the next one. */
  #breakOff(fault: AttemptFault | null): void {
    const connection = this.#connection;
    this.#settle(fault);
    this.#abort?.();
    if (connection !== null) this.#options.pool.discard(connection);
  }

  /** Fixes the result, once. The fault counts only where no status came; null: enough of the answer was read. */
  #settle(fault: AttemptFault | null): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    const response = this.#body?.take() ?? null;
    const finish = (bytes: Buffer | null) => this.#resolve(this.#result(fault, bytes));
    if (response instanceof Promise) void response.then(finish);
    else finish(response);
  }

  #result(fault: AttemptFault | null, response: Buffer | null): AttemptResult {
    const status = this.#status;
    const failureClass = this.#failureClass(fault);
    const { clock } = this.#options;
    const durationMillis = Math.round(performance.now() - this.#startedAt);
    return {
      durationMillis,
      status,
      failureClass,
      error: failureClass === null ? null : this.#errorText(fault),
      response,
      // RFC 9110 gives Retry-After a meaning for redirects, too, but those are not followed.
      retryAfterSeconds:
        this.#retryAfter !== null && (status === 429 || status === 503)
          ? parseRetryAfter(this.#retryAfter, clock())
          : null,
      isOverslept: durationMillis > this.#timeoutMillis + oversleptMillis,
      isCut: this.#isCut,
    };
  }

  /** Why the attempt failed; null when it delivered. A status decides on its own, however the body ends. */
  #failureClass(fault: AttemptFault | null): FailureClass | null {
    const status = this.#status;
    if (status === null) return fault?.failureClass ?? null;
    if (status >= 200 && status < 300) return null;
    if (status === 410) return 'gone';
    return status >= 300 && status < 400 ? 'redirect' : 'status';
  }

  #errorText(fault: AttemptFault | null): string {
    const status = this.#status;
    if (status === null) return fault?.message ?? '';
    const reason = this.#reason === '' ? STATUS_CODES[status] : this.#reason;
    const line = `${status} ${reason ?? ''}`.trimEnd();
    if (status < 300 || status >= 400) return tidyText(line);
    const to = this.#location === null ? '' : ` to ${this.#location}`;
    return tidyText(`${line}${to}: redirects are not followed`);
  }

  /** The fault of an attempt whose time is over, by the phase that it was in. */
  #timeoutFault(): AttemptFault {
    const within = `within ${this.#timeoutMillis / 1000} s`;
    const host = this.#target?.hostname ?? '';
    switch (this.#connection?.phase ?? 'open') {
      case 'proxy':
        return new AttemptFault('proxy', `No connection to the egress proxy ${within}`);
      case 'dns':
        return new AttemptFault('timeout_dns', `${host} was not looked up ${within}`);
      case 'connect':
        return new AttemptFault('timeout_connect', `No connection to ${host} ${within}`);
      case 'tls':
        return new AttemptFault('timeout_tls', `${host} did not complete TLS ${within}`);
      case 'open':
        return new AttemptFault('timeout_headers', `No answer ${within}`);
    }
  }
}

/** Timers go before what lies in the sockets, so the loop first reads an answer that came in time before a freeze. */
function runOut(attempt: Attempt): void {
  setImmediate(() => attempt.runOut());
}

/** The last value of a header, of names and values in turn; null without one. */
function lastValueOf(headers: readonly Buffer[], name: string): string | null {
  // The lengths are compared first, so that most names need not be turned into text.
  const at = headers.findLastIndex(
    (each, i) =>
      i % 2 === 0 && each.length === name.length && each.toString('latin1').toLowerCase() === name,
  );
  return at < 0 ? null : (headers[at + 1]?.toString('latin1') ?? null);
}

/** The parts of a URL that a connection and a request need. Throws an AttemptFault of class `unsendable`. */
function parseOrigin(
  { url: text, tls = null }: Request,
  timeoutMillis: number,
): Origin & { readonly path: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isHttp || url.username !== '' || url.password !== '') {
    throw new AttemptFault('unsendable', 'The URL is not one that webhooks can be sent to');
  }
  const { origin, protocol, hostname } = url;
  const port = Number(url.port || (protocol === 'https:' ? 443 : 80));
  const path = url.pathname + url.search;
  return { origin, protocol, hostname, port, tls, timeoutMillis, path };
}

const maxSeconds = 86_400;

/**
 * The seconds to wait by a Retry-After header (RFC 9110 §10.2.3), 0 … 86,400; null when it cannot be read. A date is
 * compared with our own clock. The receiver's clock may differ, but the wait cannot exceed a day.
 */
export function parseRetryAfter(text: string, nowMillis: number): number | null {
  const value = text.trim();
  if (/^\d+$/.test(value)) return Math.min(Number(value), maxSeconds);
  // Date.parse takes almost anything. Only the one form that senders may write is a date here: what Date prints.
  const millis = Date.parse(value);
  if (Number.isNaN(millis) || new Date(millis).toUTCString() !== value) return null;
  return Math.min(Math.max(Math.ceil((millis - nowMillis) / 1000), 0), maxSeconds);
}

/** One POST to a receiver, already signed. */
export type Request = {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Its own time limit, where that is shorter than the sender's. */
  readonly timeoutMillis?: number | undefined;
  readonly tls?: OwnTls | null;
  /** Is called when the request is sent, and again when its connection was found closed and another is used. */
  readonly onSent?: () => void;
};

/** The result of an attempt. It is never thrown: an attempt that fails is data. */
export type AttemptResult = {
  readonly durationMillis: number;
  readonly status: number | null;
  /** Why the attempt failed; null when it delivered, that is, got a 2xx. */
  readonly failureClass: FailureClass | null;
  /** One sentence for an operator; null when delivered. */
  readonly error: string | null;
  /** The first 4 KiB of the answer's body, after decompression; null when there was none. */
  readonly response: Buffer | null;
  /** The wait that a 429 or 503 asked for by Retry-After, 24 h at most; null when it asked for none. */
  readonly retryAfterSeconds: number | null;
  /** Whether this process stood still meanwhile, so that a failure says little about the receiver. */
  readonly isOverslept: boolean;
  /** Whether the service ended the attempt before an answer had come, which must not count as a failure. */
  readonly isCut: boolean;
};
