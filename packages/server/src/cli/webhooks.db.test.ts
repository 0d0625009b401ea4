import { expect, test } from 'vitest';
import { startTestService } from '../../test/service.ts';
import { ends, run } from './testing/run.ts';
import { useServiceCli } from './testing/service-cli.ts';

// The service attempts nothing by itself: `drain` does.
const settings = { SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_WEBHOOK_TIMEOUT_SECONDS: '2' };
const { service, cli, ok, jsonOf } = useServiceCli({ ...settings, SVC_ROLES: 'api' });
const drain = (more: string[] = [], signal = new AbortController().signal) =>
  run(['drain', ...more], {
    env: { ...settings, DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir },
    now: Date.now,
    longestSleepMillis: 20,
    signal,
  });

/** A receiver that has registered itself; `done` once it has ended. */
async function listen(words: string) {
  const interrupt = new AbortController();
  let heard = '';
  const done = cli(`listen --register ${words} --json`, {
    signal: interrupt.signal,
    onStderr: (text) => {
      heard += text;
    },
  });
  await expect.poll(() => heard).toContain('Ctrl-C ends it');
  const [, id = ''] = /as (ep_\w+) of/.exec(heard) ?? [];
  return { id, done, end: () => interrupt.abort() };
}

test('a token without admin is refused, and a foreign or unknown id is not found', async () => {
  const { token } = await service.makeToken({ preset: 'support-readonly' });
  await ends(cli('dlq ls --status pending', { token }), 4, [
    'lacks the scope webhooks:read (403 scope_missing)',
  ]);
  for (const words of ['dlq show', 'dlq retry', 'endpoints show', 'incidents show', 'dlq pause']) {
    expect(await cli(`${words} nothing`)).toMatchObject({ code: 3, stdout: '' });
  }
});

test('an empty queue is valid JSON and says that it is clean', async () => {
  expect(await jsonOf('dlq ls --status abandoned --json')).toEqual([]);
  expect((await cli('dlq ls --status abandoned', { isTerminal: true })).stderr).toBe(
    'DLQ is clean: none abandoned.\n',
  );
  expect(await drain()).toMatchObject({ code: 0, stdout: '' });
});

test('a target that is not allowed explains how to allow it', async () => {
  const strict = await startTestService({ SVC_ROLES: 'api' });
  try {
    await ends(
      run(['listen', '--register', '--tenant', 'TX'], {
        env: { SVC_URL: strict.url, SVC_TOKEN: strict.adminToken },
      }),
      2,
      [/target_(blocked|invalid)/, 'SVC_ALLOW_TARGETS=127.0.0.0/8 svcctl serve'],
    );
  } finally {
    await strict.stop();
  }
});

test('an incident fails, waits in the queue, is retried, drained and verified; the receiver goes without a trace', async () => {
  const receiver = await listen('--tenant TX --fail-first 1 --status 503');
  const send = 'incidents send --tenant TX --type incident.created --data {"n":1}';
  const incident = await ok(send);
  const first = await drain();
  expect(first).toMatchObject({ code: 0, stdout: '' });
  expect(first.stderr).toBe('0 delivered, 1 failed\nleft: 1 pending, 0 abandoned\n');

  const [row] = await jsonOf('dlq ls --status pending --tenant TX --json');
  expect(row).toMatchObject({ attempts: 1, last_status: 503, endpoint_id: receiver.id });
  const shown = await cli(`dlq show ${row.id}`, { isTerminal: true });
  expect(shown.stdout).toMatch(/^waiting +attempt 2 of 8 is scheduled for/m);
  expect(shown.stdout).toMatch(/^ {2}1 {2}.* ms {2}503 Service Unavailable \(status\)$/m);
  const [group] = await jsonOf('dlq groups --status pending --json');
  expect(group).toMatchObject({ endpoint_id: receiver.id, failure_class: 'status', count: 1 });

  expect((await ok(`dlq retry ${row.id}`)).stderr).toContain(`Retry queued for ${row.id} (`);
  const second = await drain();
  expect(second.stderr).toContain('1 delivered, 0 failed\n');
  expect(await jsonOf('dlq ls --status pending --json')).toEqual([]);
  expect(
    await jsonOf(`deliveries ls --incident ${incident.stdout.trim()} --json id,status`),
  ).toEqual([{ id: row.id, status: 'delivered' }]);

  receiver.end();
  const { code, stdout, stderr } = await receiver.done;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([
    { id: row.idempotency_key, verified: true, duplicate: false, answered: '503' },
    { id: row.idempotency_key, verified: true, duplicate: true, answered: '204' },
  ]);
  expect(stderr).toContain('2 deliveries · 2 verified, 0 not · 1 duplicate · 1 accepted, 1 failed');
  expect(await cli(`endpoints show ${receiver.id}`)).toMatchObject({ code: 3 });
});

test('all that failed is retried by one job, which dlq retries lists', async () => {
  const receiver = await listen('--tenant CA --fail-first 3');
  for (let n = 0; n < 3; n += 1) {
    await ok('incidents send --tenant CA --type incident.created');
  }
  expect((await drain()).stderr).toContain('0 delivered, 3 failed\n');
  const preview = await jsonOf('dlq retry --all --tenant CA --dry-run --json');
  expect(preview).toMatchObject({ count: 3, skipped: 0 });
  const result = await ok('dlq retry --all --tenant CA --yes --json');
  expect(result.stderr).toContain('✓ Retry queued for 3 rows. The drainer sends them');
  const job = JSON.parse(result.stdout);
  expect(job).toMatchObject({ state: 'completed', tenant: 'CA', rows_done: 3 });
  // What became of its rows is looked at again and again.
  expect((await jsonOf('dlq retries --json'))[0]).toMatchObject({ ...job, outcome: {} });
  expect(await cli(`dlq pause ${job.id}`)).toMatchObject({ code: 6 });
  expect((await ok(`dlq cancel ${job.id}`)).stderr).toContain('had ended already: completed');
  expect((await drain()).stderr).toContain('3 delivered, 0 failed\n');
  receiver.end();
  await receiver.done;
});

test('several ids of which one is unknown end with 7, the others are purged', async () => {
  const receiver = await listen('--tenant WA --mode fail');
  await ok('incidents send --tenant WA --type incident.created');
  await drain();
  const [row] = await jsonOf('dlq ls --status pending --tenant WA --json');
  await ends(cli(`dlq purge ${row.id} nothing --yes`), 7, [`Discarded ${row.id}.`, '✗ nothing: ']);
  expect(await cli(`dlq retry ${row.id}`)).toMatchObject({ code: 6 });
  receiver.end();
  await receiver.done;
});

test('an endpoint is made, changed, pinged, disabled, enabled, given a new secret and deleted', async () => {
  const target = 'https://hooks.acme.example/in';
  const made = await ok(`endpoints create --tenant OR --url ${target}`);
  expect(made.stdout).toMatch(/^whsec_\S+\n$/);
  const [{ id }] = await jsonOf('endpoints ls --tenant OR --json');
  await cli(`endpoints change ${id} --rate-limit 20 --retry-schedule 5,60 --event a.b`);
  await ok(`endpoints change ${id} --rate-limit default --event * --description D`);
  expect(await jsonOf(`endpoints show ${id} --json`)).toMatchObject({
    rate_limit: null,
    retry_schedule: [5, 60],
    event_types: ['*'],
    description: 'D',
  });
  await ok(`endpoints disable ${id}`);
  expect(await cli(`endpoints ping ${id}`)).toMatchObject({ code: 6, stdout: '' });
  await ok(`endpoints enable ${id}`);
  const pinged = await ok(`endpoints ping ${id}`);
  expect(pinged.stdout).toMatch(/^dlv_\w+\n$/);
  expect(pinged.stderr).toMatch(/\(dns\), in \d+ ms\./);
  const rotated = await ok(`endpoints rotate-secret ${id} --yes`);
  expect(rotated.stdout).toMatch(/^whsec_\S+\n$/);
  expect(rotated.stdout).not.toBe(made.stdout);
  expect(rotated.stderr).toContain('The old one also signs until');
  await ok(`endpoints delete ${id} --yes`);
  expect(await cli(`endpoints delete ${id} --yes`)).toMatchObject({ code: 3 });
});

test('drain ends with 130 on Ctrl-C and leaves no row leased', async () => {
  const receiver = await listen('--tenant NV --mode hang');
  await ok('incidents send --tenant NV --type incident.created');
  const interrupt = new AbortController();
  const draining = drain(['--json'], interrupt.signal);
  const inFlight = async () => (await jsonOf('deliveries ls --tenant NV --json id'))[0].id;
  const id = await inFlight();
  await expect
    .poll(async () => (await jsonOf(`dlq show ${id} --json waiting`)).waiting.reason, {
      timeout: 120_000,
    })
    .toBe('in_flight');
  // It is a process like others while it runs, so that its settings are compared with theirs.
  const drainers = async () => {
    const { json } = await service.call('GET', '/status');
    return json.processes.filter(({ command }: { command: string }) => command === 'drain');
  };
  expect(await drainers()).toMatchObject([
    { roles: ['drainer'], state: 'live', url: null, store_state: null },
  ]);
  expect((await drainers())[0].settings).toMatchObject({ SVC_WEBHOOK_TIMEOUT_SECONDS: '2' });
  expect((await ok('ps')).stdout).toMatch(/\tsvcctl drain\tlive\t/);
  interrupt.abort();
  expect(await draining).toMatchObject({ code: 130, stdout: '' });
  expect(await drainers()).toEqual([]);
  expect((await jsonOf(`dlq show ${id} --json waiting`)).waiting.reason).toBe('schedule');
  receiver.end();
  await receiver.done;
});

test('drain names a setting that is wrong, with exit 2', async () => {
  await ends(run(['drain'], { env: { SVC_PORTT: '1' } }), 2, ['SVC_PORTT: no such setting']);
});
