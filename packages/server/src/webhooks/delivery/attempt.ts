import { STATUS_CODES } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../kernel/clock.ts';
import type { FailureClass } from '../values.ts';
import { AnswerBody } from './answer-body.ts';
import type { ConnectionPool, EndpointConnection, Origin } from './connection-pool.ts';
import { AttemptFault, exchangeFault, isClosed, tidyText } from './fault.ts';
import type { AttemptResult, Request } from './request.ts';

type AttemptOptions = {
  readonly pool: ConnectionPool;
  readonly timeoutMillis: number;
  readonly clock: Clock;
};

type Resolve = (result: AttemptResult) => void;

/** Interim answers before the final one, at most. */
const mostInterim = 20;

/**
 * One attempt, from the look-up of the name to the end of the answer, under one clock. A class that is
 * its own handler: undici's request() makes a stream and half a dozen closures for each.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #options: AttemptOptions;
  readonly #request: Request;
  readonly #resolve: Resolve;
  readonly #startedAt = performance.now();
  #target: (Origin & { readonly path: string }) | null = null;
  #timer: NodeJS.Timeout | undefined;
  #connection: EndpointConnection | null = null;
  #abort: ((error?: Error) => void) | null = null;
  #isReused = false;
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
  }

  start(): void {
    try {
      this.#target = parseOrigin(this.#request.url);
      this.#timer = setTimeout(runOut, this.#options.timeoutMillis, this);
      this.#dispatch(this.#options.pool.take(this.#target));
    } catch (error) {
      this.#settle(exchangeFault(error, false));
    }
  }

  /** The clock has run out. */
  runOut(): void {
    this.#breakOff(this.#timeoutFault());
  }

  /** Ends it now. An answer that counts whatever its body is counts. */
  cut(): void {
    if (this.#isSettled) return;
    this.#isCut = !this.#isRefused();
    this.#breakOff(new AttemptFault('reset', 'The service stops and has ended the attempt'));
  }

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
    let contentEncoding: string | null = null;
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i];
      // Their lengths first: most headers need not be turned into text.
      if (name?.length === 16 && isNamed(name, 'content-encoding')) {
        contentEncoding = headers[i + 1]?.toString('latin1') ?? null;
      } else if (name?.length === 11 && isNamed(name, 'retry-after')) {
        this.#retryAfter = headers[i + 1]?.toString('latin1') ?? null;
      } else if (name?.length === 8 && isNamed(name, 'location')) {
        this.#location = headers[i + 1]?.toString('latin1') ?? null;
      }
    }
    this.#body = new AnswerBody(contentEncoding);
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#isSettled) return false;
    if (this.#body?.add(chunk) !== false) return true;
    this.#breakOff(null);
    return false;
  }

  onComplete(): void {
    if (this.#isSettled || this.#connection === null) return;
    this.#options.pool.release(this.#connection);
    this.#settle(null);
  }

  onError(error: Error): void {
    if (this.#isSettled) return;
    const connection = this.#connection;
    if (connection !== null) this.#options.pool.discard(connection);
    // The receiver closed an idle connection as it was taken into use. It may also have read the
    // request before: then it sees the same webhook-id twice, as after any failed attempt.
    if (this.#isReused && !this.#hasAnswerBegun && isClosed(error) && this.#target !== null) {
      this.#dispatch(this.#options.pool.open(this.#target));
      return;
    }
    this.#settle(exchangeFault(error, this.#status !== null));
  }

  #dispatch(connection: EndpointConnection): void {
    const { body, headers } = this.#request;
    this.#connection = connection;
    this.#abort = null;
    this.#isReused = false;
    const path = this.#target?.path ?? '/';
    connection.client.dispatch({ method: 'POST', path, headers, body }, this);
  }

  /** 100 Continue, 103 Early Hints: not the answer yet. */
  #passInterim(): boolean {
    this.#interimCount += 1;
    if (this.#interimCount <= mostInterim) return true;
    const text = `The receiver sent more than ${mostInterim} interim answers`;
    this.#breakOff(new AttemptFault('protocol', text));
    return false;
  }

  /** Ends the attempt and its connection. */
  #breakOff(fault: AttemptFault | null): void {
    const connection = this.#connection;
    this.#settle(fault);
    this.#abort?.();
    if (connection !== null) this.#options.pool.discard(connection);
  }

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
    return {
      durationMillis: Math.round(performance.now() - this.#startedAt),
      status,
      failureClass,
      error: failureClass === null ? null : this.#errorText(fault),
      response,
      retryAfterSeconds:
        this.#retryAfter !== null && (status === 429 || status === 503)
          ? parseRetryAfter(this.#retryAfter, this.#options.clock())
          : null,
      isCut: this.#isCut,
    };
  }

  /** A status that is no 2xx decides, however its body ends. */
  #isRefused(): boolean {
    return this.#status !== null && (this.#status < 200 || this.#status >= 300);
  }

  #failureClass(fault: AttemptFault | null): FailureClass | null {
    const status = this.#status;
    if (status === null || !this.#isRefused()) return fault?.failureClass ?? null;
    if (status === 410) return 'gone';
    return status >= 300 && status < 400 ? 'redirect' : 'status';
  }

  #errorText(fault: AttemptFault | null): string {
    const status = this.#status;
    if (status === null) return fault?.message ?? '';
    const reason = this.#reason === '' ? STATUS_CODES[status] : this.#reason;
    const line = `${status} ${reason ?? ''}`.trimEnd();
    if (status >= 200 && status < 300) return tidyText(`${line}, but ${fault?.message ?? ''}`);
    if (status < 300 || status >= 400) return tidyText(line);
    const to = this.#location === null ? '' : ` to ${this.#location}`;
    return tidyText(`${line}${to}: redirects are not followed`);
  }

  #timeoutFault(): AttemptFault {
    const within = `within ${this.#options.timeoutMillis / 1000} s`;
    const host = this.#target?.hostname ?? '';
    if (this.#status !== null) {
      return new AttemptFault('timeout_body', `the answer did not end ${within}`);
    }
    switch (this.#connection?.phase ?? 'open') {
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

function runOut(attempt: Attempt): void {
  attempt.runOut();
}

function isNamed(name: Buffer, lowerCase: string): boolean {
  return name.toString('latin1').toLowerCase() === lowerCase;
}

function parseOrigin(text: string): Origin & { readonly path: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isHttp || url.username !== '' || url.password !== '') {
    throw new AttemptFault('unsendable', 'The URL is not one that webhooks can be sent to');
  }
  const { origin, protocol, hostname } = url;
  const port = Number(url.port || (protocol === 'https:' ? 443 : 80));
  return { origin, protocol, hostname, port, path: url.pathname + url.search };
}

const maxSeconds = 86_400;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const month = `(?<month>${months.join('|')})`;
const time = '(?<time>\\d\\d:\\d\\d:\\d\\d)';
/** RFC 9110 §5.6.7: what senders write today, and two old forms that recipients must still take. */
const dateForms = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^[A-Z][a-z]+day, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^[A-Z][a-z]{2} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/**
 * Seconds to wait by a Retry-After header (RFC 9110 §10.2.3), 0 … 86,400; null when it says nothing
 * that can be read. Dates count from our clock: a day at most is asked of it, and the receiver's may be off.
 */
export function parseRetryAfter(text: string, nowMillis: number): number | null {
  const value = text.trim();
  if (/^\d+$/.test(value)) return Math.min(Number(value), maxSeconds);
  const millis = parseHttpDate(value, nowMillis);
  if (millis === null) return null;
  return Math.min(Math.max(Math.ceil((millis - nowMillis) / 1000), 0), maxSeconds);
}

function parseHttpDate(text: string, nowMillis: number): number | null {
  for (const form of dateForms) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const monthNumber = months.indexOf(groups.month ?? '') + 1;
    const year = wholeYear(groups.year ?? '', nowMillis);
    const day = (groups.day ?? '').trim().padStart(2, '0');
    const iso = `${year}-${String(monthNumber).padStart(2, '0')}-${day}T${groups.time}Z`;
    const millis = Date.parse(iso);
    return Number.isNaN(millis) ? null : millis;
  }
  return null;
}

/** Two digits that would lie more than 50 years ahead are of the century before. */
function wholeYear(text: string, nowMillis: number): string {
  if (text.length === 4) return text;
  const thisYear = new Date(nowMillis).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + Number(text);
  return String(year > thisYear + 50 ? year - 100 : year);
}
