import type { InputFault, Page } from './types.ts';
import { basePath, NotJson, portalHeader, shortWaitOf } from './values.ts';

/** Parameters of a query; those that are undefined are left out. */
export type Params = Readonly<Record<string, string | number | undefined>>;

/** Whether this is the portal, where people of a tenant see their webhooks: it has a session of its own. */
export const isPortal = globalThis.location?.pathname === '/portal';
/** Time-out of a read. Reads are quick or get no answer at all, so the first poll notices a service that hangs. */
const readMillis = 10_000;
/** Time-out of a read that may need cold data: the service itself gives their store 15 s, and sometimes more. */
const coldReadMillis = 60_000;
const coldReads = [
  ...['/enrichment/records', '/enrichment/facts', '/enrichment/fields'],
  ...['/exports/estimate', '/exports/schema'],
];
const writeMillis = 30_000;

/** These calls send a token in their body: a 401 to them is about that token, not about the session. */
const tokenPaths = ['/session', '/session/confirm', '/portal/session'];

/** Fired on `window` when an answer says that the session has ended. */
export const sessionEndedEvent = 'svcctl:session-ended';

/** Fired on `window`, cancelable, with a `StepUpRequest`: a call asks for the access token once more. */
export const stepUpEvent = 'svcctl:step-up';

/** Fired on `window`, with what the service says: a call was kept, and waits for somebody else to confirm it. */
export const approvalEvent = 'svcctl:approval';

/** A listener that takes up the request calls `preventDefault`, and later `settle`: true if the token was confirmed. */
export type StepUpRequest = { readonly settle: (isConfirmed: boolean) => void };

/** What an ApiError carries beside its message. */
type ApiErrorFields = {
  /** HTTP status; 0 when there was no connection, or no answer within the time-out. */
  readonly status: number;
  /** A code of the service's catalogue, or one that is ours: `connection_lost`, `timeout`, `answer_unreadable`. */
  readonly code: string;
  /** What to do next, for people. */
  readonly detail: string;
  /** The id under which the service has logged the request. */
  readonly requestId?: string | null;
  /** How long the service asks to wait. */
  readonly retryAfterSeconds?: number | null;
  readonly errors?: readonly InputFault[];
};

/** What a call to the API throws, whatever went wrong. Only one that its caller aborts throws an AbortError instead. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly errors: readonly InputFault[];

  constructor(fields: ApiErrorFields, options?: ErrorOptions) {
    super(`${fields.code}: ${fields.detail}`, options);
    this.name = 'ApiError';
    this.status = fields.status;
    this.code = fields.code;
    this.detail = fields.detail;
    this.requestId = fields.requestId ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.errors = fields.errors ?? [];
  }
}

/** Calls the API of the service that served this page; the browser sends the session cookie along. */
export const api = {
  async get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('GET', pathWith(path, params), { signal }));
  },

  /** What `read` makes of the text of the answer: JSON.parse would change numbers such as 0.10 and those above 2^53. */
  async getBy<T>(
    read: (text: string) => T,
    path: string,
    params?: Params,
    signal?: AbortSignal,
  ): Promise<T> {
    return readBy(read, await call('GET', pathWith(path, params), { signal }));
  },

  async post<T>(path: string, body: unknown, options: SendOptions = {}): Promise<T> {
    return parse<T>(await call('POST', path, { ...options, body: JSON.stringify(body) }));
  },

  async put<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('PUT', path, { body: JSON.stringify(body), signal }));
  },

  async patch<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('PATCH', path, { body: JSON.stringify(body), signal }));
  },

  /** Resolves to `undefined` when the answer is empty. */
  async delete<T = undefined>(path: string, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('DELETE', path, { signal }));
  },
} as const;

/** The path with a query of those parameters that have a value. */
export function pathWith(path: string, params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/** So many pages are read at most, which is 5,000 rows; for more, a sum is not worth the requests. */
const mostPages = 10;

/** Reads a list from its beginning; `isPart` says that it has more rows than were read. */
export async function readPages<Row>(
  path: string,
  params: Params,
  signal: AbortSignal,
): Promise<{ rows: Row[]; isPart: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const answer: Page<Row> = await api.get(path, { ...params, limit: 500, cursor }, signal);
    rows.push(...answer.data);
    cursor = answer.next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return { rows, isPart: cursor !== undefined };
}

/** The error for an answer that is not 2xx. It need not come from the service: a proxy in between answers HTML. */
export function errorOf(status: number, headers: Headers, text: string): ApiError {
  const problem = parseObject(text);
  const textOf = (name: string) => {
    const value = problem[name];
    return typeof value === 'string' ? value : undefined;
  };
  const retryAfter = headers.get('retry-after')?.trim();
  return new ApiError({
    status,
    code: textOf('code') ?? `http_${status}`,
    detail: textOf('detail') ?? textOf('title') ?? `The service answered ${status}.`,
    requestId: textOf('request_id') ?? headers.get('x-request-id'),
    retryAfterSeconds: retryAfter !== undefined && /^\d+$/.test(retryAfter) ? +retryAfter : null,
    errors: Array.isArray(problem.errors) ? (problem.errors as InputFault[]) : [],
  });
}

/** Tells the page that the session has ended. Requests that do not go through `api` call it on a 401. */
export function reportSessionEnd(): void {
  window.dispatchEvent(new Event(sessionEndedEvent));
}

type SendOptions = {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
};
type Sent = SendOptions & { readonly body?: string };
type Answer = { readonly text: string; readonly requestId: string | null };

/** Makes a call. If it asks for the access token once more, it is made again after the token was confirmed. */
async function call(method: string, path: string, sent: Sent): Promise<Answer> {
  const attempt = () => (method === 'GET' ? send : sendPatiently)(method, path, sent);
  try {
    return await attempt();
  } catch (error) {
    if (!isStepUp(error) || !(await askForToken())) throw tellKept(error);
    return attempt().catch((again: unknown) => Promise.reject(tellKept(again)));
  }
}

/** Tells the page when a call waits for somebody else. It has failed all the same: nothing was done yet. */
function tellKept(error: unknown): unknown {
  if (error instanceof ApiError && error.code === 'approval_required') {
    window.dispatchEvent(new CustomEvent(approvalEvent, { detail: error.detail }));
  }
  return error;
}

/** Sends a write again that was refused before anything was done, if the service asks for a few seconds at most. */
async function sendPatiently(method: string, path: string, sent: Sent): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send(method, path, sent);
    } catch (error) {
      const seconds = error instanceof ApiError ? shortWaitOf(error, tries) : null;
      if (seconds === null) throw error;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      sent.signal?.throwIfAborted();
    }
  }
}

/** Whether a call failed because it wants the access token once more, and the person closed that question. */
export function isStepUp(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'step_up_required';
}

function askForToken(): Promise<boolean> {
  return new Promise((settle) => {
    const request: StepUpRequest = { settle };
    const event = new CustomEvent(stepUpEvent, { detail: request, cancelable: true });
    if (window.dispatchEvent(event)) settle(false);
  });
}

function timeoutOf(method: string, path: string): number {
  if (method !== 'GET') return writeMillis;
  return coldReads.some((each) => path.startsWith(each)) ? coldReadMillis : readMillis;
}

/** Sends one request and reads the whole answer in time. Throws an ApiError for every answer that is not 2xx. */
async function send(
  method: string,
  path: string,
  { body, headers, signal }: Sent,
): Promise<Answer> {
  const timeoutMillis = timeoutOf(method, path);
  const timeout = AbortSignal.timeout(timeoutMillis);
  try {
    const response = await fetch(basePath + path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        ...headers,
        // The page asks by itself, too; only what follows a press keeps the session of somebody open.
        ...(globalThis.navigator?.userActivation?.isActive === true && { 'svcctl-active': '?1' }),
        ...(isPortal && { [portalHeader]: '1' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body ?? null,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const text = await response.text();
    if (response.ok) return { text, requestId: response.headers.get('x-request-id') };
    // A refused sign-in does not end the session.
    if (response.status === 401 && !tokenPaths.includes(path)) reportSessionEnd();
    throw errorOf(response.status, response.headers, text);
  } catch (cause) {
    if (cause instanceof ApiError || signal?.aborted) throw cause;
    throw timeout.aborted
      ? new ApiError(
          { status: 0, code: 'timeout', detail: `No answer within ${timeoutMillis / 1000} s.` },
          { cause },
        )
      : new ApiError(
          { status: 0, code: 'connection_lost', detail: 'The service cannot be reached.' },
          { cause },
        );
  }
}

function parse<T>(answer: Answer): T {
  if (answer.text === '') return undefined as T;
  return readBy((text) => JSON.parse(text) as T, answer);
}

function readBy<T>(read: (text: string) => T, { text, requestId }: Answer): T {
  try {
    return read(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof NotJson)) throw cause;
    const detail = 'The answer is not JSON. Does something stand between here and the service?';
    throw new ApiError({ status: 502, code: 'answer_unreadable', detail, requestId }, { cause });
  }
}

/** The text as an object; empty when it is no JSON object, for instance the HTML of a proxy. */
function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
