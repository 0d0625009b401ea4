import { expect, test } from 'vitest';
import { AppError } from '../kernel/errors.ts';
import { toFailure } from './failure.ts';
import { prepareCli } from './testing/prepare-cli.ts';
import { json, problem, startReceiver } from './testing/receiver.ts';
import { ends, run } from './testing/run.ts';

const { api, cli } = prepareCli();

test.each([
  [401, 'token_expired', 4],
  [403, 'scope_missing', 4],
  [400, 'request_invalid', 2],
  [404, 'record_not_found', 3],
  [413, 'body_too_large', 2],
  [429, 'rate_limited', 5],
  [500, 'internal_error', 1],
  [503, 'database_unavailable', 5],
  // Codes of a service newer than this command line go by their status.
  [409, 'something_new', 6],
  [404, 'something_new', 3],
  [418, 'something_new', 2],
])('%d %s ends with exit %d', async (status, errorCode, exit) => {
  api.on('*', problem(status, errorCode, 'So it is.'));
  await ends(cli('records ls'), exit, [
    `error: so it is (${status} ${errorCode})`,
    'request req_1',
  ]);
});

test('a refusal before anything was done is waited for, if not for long, and else says for how long', async () => {
  const me = { name: 'x', scopes: [], tenants: null, expires_at: null };
  const refuse = (errorCode: string, seconds: string) => {
    let calls = 0;
    api.on('GET /me', (request, response) => {
      calls += 1;
      const busy = problem(429, errorCode, 'Busy.', { headers: { 'retry-after': seconds } });
      return (calls <= 2 ? busy : json(me))(request, response);
    });
  };
  refuse('requests_busy', '2');
  expect(await cli('whoami')).toMatchObject({ code: 0, sleepsMillis: [2000, 2000] });
  refuse('requests_busy', '6');
  const late = await cli('whoami');
  expect(late).toMatchObject({ code: 5, sleepsMillis: [] });
  expect(late.stderr).toContain('\n  Try again in 6 s.\n');
  const soon = problem(503, 'database_unavailable', 'Away. Try again in a second.', {
    headers: { 'retry-after': '1' },
  });
  api.on('GET /me', soon);
  expect((await cli('whoami')).stderr.match(/Try again/g)).toHaveLength(1);
  refuse('sign_in_limited', '1');
  expect(await cli('whoami')).toMatchObject({ code: 5, sleepsMillis: [] });
});

test('an export is asked for again while as many run as may', async () => {
  let calls = 0;
  api.on('POST /exports/csv', (request, response) => {
    calls += 1;
    const headers = { 'retry-after': '5' };
    return problem(429, calls <= 3 ? 'exports_busy' : 'exports_full', 'No.', { headers })(
      request,
      response,
    );
  });
  const { code, sleepsMillis } = await cli(exportArgv);
  expect({ code, sleepsMillis }).toEqual({ code: 5, sleepsMillis: [5000, 5000, 5000] });
});

test('several faults have a line each', async () => {
  const errors = [
    { path: '?level', code: 'value_invalid', message: 'must be one of tenant, store' },
    { path: '?q', code: 'value_invalid', message: 'is too long' },
  ];
  api.on('*', problem(400, 'request_invalid', 'level: …; q: …', { errors }));
  const { stderr } = await cli('records ls');
  expect(stderr).toContain(
    '(400 request_invalid)\n  level: must be one of tenant, store\n  q: is too long\n',
  );
});

test('an answer that is not ours is told as such, with the status', async () => {
  api.on('*', (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<html>');
  });
  await ends(cli('records ls'), 1, ['(answer_unexpected)']);
});

test('a gateway without the service behind it is a service that does not answer', async () => {
  api.on('*', (_request, response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end('<html>');
  });
  await ends(cli('whoami'), 5, ['(502 service_unreachable)']);
});

test('a redirect is not followed: the token must not travel', async () => {
  api.on('GET /me', (_request, response) => {
    response.writeHead(302, { location: `${api.url}/api/v1/elsewhere` });
    response.end();
  });
  api.on('GET /elsewhere', json({ name: 'x', scopes: [], tenants: null, expires_at: null }));
  await ends(cli('whoami'), 1, [`points to ${api.url}/api/v1/elsewhere`]);
});

test('nobody listening ends with exit 5 and says where the URL is from', async () => {
  const gone = await startReceiver();
  await gone.close();
  for (const argv of [['whoami'], ['records', 'ingest', '-'], exportArgv]) {
    await ends(run(argv, { env: gone.env, stdin: '{}' }), 5, [
      'does not answer: connection refused (service_unreachable)',
      'It is from SVC_URL and SVC_TOKEN.',
    ]);
  }
});

test('a database that the command itself cannot reach is told with what the driver said', () => {
  const one = new Error('connect ECONNREFUSED ::1:5432');
  for (const cause of [one, new AggregateError([one, new Error('another')])]) {
    const failure = toFailure(new AppError('database_unavailable', { cause }));
    expect(failure.hints).toEqual(['the database: connect ECONNREFUSED ::1:5432']);
  }
});

test('a service that does not answer in time ends with exit 5', async () => {
  api.on('*', () => new Promise(() => {}));
  for (const argv of [['whoami'], exportArgv]) {
    await ends(cli(argv, { timeouts: { answerMillis: 50 } }), 5, ['no answer within 0.05 s']);
  }
});

test('an interrupt ends with exit 130', async () => {
  for (const argv of [['whoami'], ['records', 'ingest', '-'], exportArgv]) {
    const interrupt = new AbortController();
    api.on('*', () => {
      interrupt.abort();
      return new Promise(() => {});
    });
    await ends(cli(argv, { signal: interrupt.signal }), 130, ['(interrupted)']);
  }
});

test('a reader that hangs up ends the command quietly', async () => {
  const hangUp = () => {
    throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  };
  const { code, stderr } = await run(['completion', 'bash'], { onStdout: hangUp });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('a full disk behind stdout is an error', async () => {
  const fill = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  };
  await ends(run(['completion', 'bash'], { onStdout: fill }), 1, [
    'no space left on device (file_unreadable)',
  ]);
});

test('colour is only for terminals that want it', async () => {
  const words = ['records', 'lss'];
  expect((await run(words, { isTerminal: true })).stderr).toContain('\u001b[31merror:');
  expect((await run(words)).stderr).not.toContain('\u001b');
  expect((await run(words, { isTerminal: true, env: { NO_COLOR: '1' } })).stderr).not.toContain(
    '\u001b',
  );
  expect((await run(words, { isTerminal: true, env: { TERM: 'dumb' } })).stderr).not.toContain(
    '\u001b',
  );
});

const exportArgv = ['analytics', 'export', '--tenant', 'T', '--month', '2026-03', '--out', '-'];
