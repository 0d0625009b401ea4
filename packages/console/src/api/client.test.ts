import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  ApiError,
  api,
  errorOf,
  pathWith,
  type StepUpRequest,
  sessionEndedEvent,
  stepUpEvent,
} from './client.ts';
import { membersOf } from './values.ts';

const problem = {
  title: 'The database cannot be reached at the moment.',
  status: 503,
  detail: 'Try again in a second.',
  code: 'database_unavailable',
  request_id: 'req_1',
};

describe('an answer that is not 2xx', () => {
  test('is told in the words of its problem document', () => {
    const headers = new Headers({ 'retry-after': '7' });
    expect(errorOf(503, headers, JSON.stringify(problem))).toMatchObject({
      status: 503,
      code: 'database_unavailable',
      detail: 'Try again in a second.',
      requestId: 'req_1',
      retryAfterSeconds: 7,
      errors: [],
    });
  });

  test('of a proxy is told by its status', () => {
    const headers = new Headers({ 'x-request-id': 'req_2', 'retry-after': 'soon' });
    expect(errorOf(502, headers, '<html>Bad Gateway</html>')).toMatchObject({
      status: 502,
      code: 'http_502',
      detail: 'The service answered 502.',
      requestId: 'req_2',
      retryAfterSeconds: null,
    });
  });
});

test('parameters without a value are left out', () => {
  expect(pathWith('/a', { b: 'x y', c: undefined, d: 5 })).toBe('/a?b=x+y&d=5');
  expect(pathWith('/a', { c: undefined })).toBe('/a');
});

// fetch and window are the browser's: the edges of this code.
describe('a call', () => {
  let events: EventTarget;
  let endings: number;
  beforeEach(() => {
    events = new EventTarget();
    endings = 0;
    events.addEventListener(sessionEndedEvent, () => {
      endings += 1;
    });
    vi.stubGlobal('window', events);
  });
  afterEach(() => vi.unstubAllGlobals());

  const answer = (status: number, body: string) => {
    vi.stubGlobal('fetch', async () => new Response(body, { status }));
  };
  const failureOf = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      (error: unknown) => error,
    );

  test('is read from its text as it came', async () => {
    answer(200, '{"confidence":0.10}');
    expect(await api.getBy(membersOf, '/x')).toEqual(new Map([['confidence', '0.10']]));
  });

  test.each([
    ['after somebody has pressed something', { isActive: true }, '?1'],
    ['that the page makes by itself', { isActive: false }, null],
    ['in a browser that cannot tell', undefined, null],
  ])('%s says whether somebody is there', async (_when, userActivation, said) => {
    let sent: string | null = '';
    vi.stubGlobal('navigator', { userActivation });
    vi.stubGlobal('fetch', async (_url: string, { headers }: RequestInit) => {
      sent = new Headers(headers).get('svcctl-active');
      return new Response('{}');
    });
    await api.get('/x');
    expect(sent).toBe(said);
  });

  test('that ends in 401 says that the session has ended', async () => {
    answer(401, '{"code":"session_expired","detail":"Sign in again."}');
    expect(await failureOf(api.get('/me'))).toMatchObject({ status: 401, code: 'session_expired' });
    expect(endings).toBe(1);
  });

  test('to sign in that is refused ends no session', async () => {
    answer(401, '{"code":"token_unknown","detail":"x"}');
    expect(await failureOf(api.post('/session', {}))).toMatchObject({ status: 401 });
    expect(endings).toBe(0);
  });

  test('without a connection has status 0', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    const error = await failureOf(api.get('/x'));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 0, code: 'connection_lost', requestId: null });
  });

  test('that the page gave up stays an abort', async () => {
    const abort = new AbortController();
    vi.stubGlobal('fetch', async (_url: string, init: RequestInit) => {
      abort.abort();
      init.signal?.throwIfAborted();
    });
    expect(await failureOf(api.get('/x', {}, abort.signal))).toMatchObject({ name: 'AbortError' });
  });

  describe('that was refused before anything was done', () => {
    let calls: number;
    const refuse = (code: string, seconds: string) => {
      calls = 0;
      const headers = { 'retry-after': seconds };
      vi.stubGlobal('fetch', async () => {
        calls += 1;
        return calls <= 2
          ? new Response(JSON.stringify({ code, detail: 'x' }), { status: 429, headers })
          : new Response('{"done":true}');
      });
    };

    test('is made again after the seconds that the service asks for, if it writes', async () => {
      refuse('rate_limited', '0');
      expect(await api.post('/x', {})).toEqual({ done: true });
      expect(calls).toBe(3);
    });

    test.each([
      ['by a read, which its page makes again', 'rate_limited', '0', () => api.get('/x')],
      ['for long', 'rate_limited', '6', () => api.delete('/x')],
      ['because of wrong sign-ins', 'sign_in_limited', '0', () => api.post('/x', {})],
    ])('fails at once when it was %s', async (_why, code, seconds, make) => {
      refuse(code, seconds);
      expect(await failureOf(make())).toMatchObject({ status: 429, code });
      expect(calls).toBe(1);
    });
  });

  describe('that needs the access token once more', () => {
    const refused = { status: 403, body: '{"code":"step_up_required","detail":"x"}' };
    let calls: number;
    const refuse = (times: number) => {
      calls = 0;
      vi.stubGlobal('fetch', async () => {
        calls += 1;
        return calls <= times
          ? new Response(refused.body, { status: refused.status })
          : new Response('{"done":true}');
      });
    };
    const answerQuestion = (isConfirmed: boolean) => {
      events.addEventListener(stepUpEvent, (event) => {
        event.preventDefault();
        (event as CustomEvent<StepUpRequest>).detail.settle(isConfirmed);
      });
    };

    test('is made again once that was given', async () => {
      refuse(1);
      answerQuestion(true);
      expect(await api.post('/x', {})).toEqual({ done: true });
      expect(calls).toBe(2);
    });

    test('is asked for once only', async () => {
      refuse(2);
      answerQuestion(true);
      expect(await failureOf(api.patch('/x', {}))).toMatchObject({ code: 'step_up_required' });
      expect(calls).toBe(2);
    });

    test('fails when the question is closed, or nobody asks it', async () => {
      refuse(1);
      expect(await failureOf(api.delete('/x'))).toMatchObject({ code: 'step_up_required' });
      refuse(1);
      answerQuestion(false);
      expect(await failureOf(api.delete('/x'))).toMatchObject({ code: 'step_up_required' });
      expect(calls).toBe(1);
    });
  });

  test('that is answered with something else than JSON says so', async () => {
    answer(200, '<html>');
    expect(await failureOf(api.get('/x'))).toMatchObject({
      status: 502,
      code: 'answer_unreadable',
    });
    for (const body of ['<html>', '{"data":[{"tenant":', '']) {
      answer(200, body);
      expect(await failureOf(api.getBy(membersOf, '/x'))).toMatchObject({
        status: 502,
        code: 'answer_unreadable',
        detail: 'The answer is not JSON. Does something stand between here and the service?',
        cause: expect.any(Error),
      });
    }
  });
});
