import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secretBytes } from '../../packages/server/src/webhooks/secret.ts';
import { signatureHeaders } from '../../packages/server/src/webhooks/signature.ts';
import { useTestDatabase } from '../../packages/server/test/database.ts';
import { findFreePorts, useInstallation, useService } from '../lib/installation.ts';
import { installReceive } from '../lib/package.ts';
import { waitFor } from '../lib/wait-for.ts';
import { addEndpoint, report, untilDelivery, webhookSettings } from '../lib/webhooks.ts';

// The receivers in docs/receiving.md, as they stand there, take what the service sends, and nothing else.

const run = promisify(execFile);
const python = process.env.SVC_TEST_PYTHON ?? 'python3';
const doc = await readFile(new URL('../../docs/receiving.md', import.meta.url), 'utf8');

/** The programs of the document, by the names in their first lines, and what runs each. */
const programs: Record<string, readonly string[]> = {
  'with-package.mjs': [process.execPath, 'with-package.mjs'],
  'receiver.mjs': [process.execPath, 'receiver.mjs'],
  'receiver.py': [python, 'receiver.py'],
  'receiver.go': ['./receiver'],
  'Receiver.java': ['java', 'Receiver.java'],
};
const snippets = new Map(
  [...doc.matchAll(/^```\w+\n(?:\/\/|#) (\S+\.\w+)\n[\s\S]*?^```$/gm)].map(([text, name]) => [
    name ?? '',
    text.split('\n').slice(1, -1).join('\n'),
  ]),
);

/** What this machine has not, of what runs the programs. */
const missing = (
  await Promise.all(
    [
      { name: 'receiver.py', command: [python, '--version'] },
      { name: 'receiver.go', command: ['go', 'version'] },
      { name: 'Receiver.java', command: ['javac', '-version'] },
    ].map(({ name, command: [file = '', ...args] }) =>
      run(file, args).then(
        () => [],
        () => [name],
      ),
    ),
  )
).flat();

const db = useTestDatabase();
let installed: Awaited<ReturnType<typeof installReceive>>;
const installation = useInstallation();
// A receiver in Java takes a second to begin its first answer on a busy machine.
const service = useService(installation, { ...webhookSettings, SVC_WEBHOOK_TIMEOUT_SECONDS: '60' });
beforeAll(async () => {
  installed = await installReceive();
});
const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await installed?.remove();
});

test('each program of the document is known here, and run where its language is there', () => {
  expect([...snippets.keys()].sort()).toEqual(Object.keys(programs).sort());
  if (missing.length > 0) {
    process.stderr.write(`Not run, since what runs them is not there: ${missing.join(', ')}.\n`);
  }
});

type Running = { url: string; output: () => string };

/** Starts a program of the document with this secret, and waits until it listens. */
async function start(name: string, secret: string, port: number): Promise<Running> {
  // Only beside the package would Node find it.
  const cwd = name.startsWith('with-') ? installed.folder : join(installed.folder, `of-${name}`);
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, name), snippets.get(name) ?? '');
  if (name.endsWith('.go')) await run('go', ['build', '-o', 'receiver', name], { cwd });
  const [file = '', ...args] = programs[name] ?? [];
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret, DATABASE_URL: db.url };
  const child = spawn(file, args, { cwd, env });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += String(text);
    });
  }
  await waitFor(`${name} to listen`, () => output.includes('listening'));
  return { url: `http://127.0.0.1:${port}/webhooks`, output: () => output };
}

describe.each(Object.keys(programs).filter((name) => !missing.includes(name)))('%s', (name) => {
  const secret = `whsec_${Buffer.from(name.padEnd(32)).toString('base64')}`;
  let receiver: Running;
  let endpoint: string;
  const linesWith = (id: string) =>
    receiver
      .output()
      .split('\n')
      .filter((line) => line.includes(id) && line.includes('incident.created')).length;
  const deliver = async () => {
    const [delivery] = (await report(service)).filter(({ endpoint_id: id }) => id === endpoint);
    await untilDelivery(service, delivery?.id ?? '', 'delivered');
    return delivery?.idempotency_key ?? '';
  };

  beforeAll(async () => {
    const [port = 0] = await findFreePorts(1);
    receiver = await start(name, secret, port);
    endpoint = await addEndpoint(service, receiver.url, { secret });
  });

  test('takes what the service sends, also after its secret was changed', async () => {
    const first = await deliver();
    const path = `/webhook/endpoints/${endpoint}/rotate-secret`;
    const { status, json } = await service.call('POST', path);
    expect(status).toBe(200);
    const second = await deliver();
    expect([linesWith(first), linesWith(second)]).toEqual([1, 1]);
    const [port = 0] = await findFreePorts(1);
    const next = await start(name, `${json.secret} ${secret}`, port);
    const change = { body: { url: next.url } };
    await service.call('PATCH', `/webhook/endpoints/${endpoint}`, change);
    const third = await deliver();
    expect(next.output()).toContain(third);
  });

  test('refuses what was not signed so, now and by that secret, and handles what comes again once', async () => {
    const body = '{"type":"incident.created","timestamp":"2026-03-05T14:07:09Z","data":{"é":"’"}}';
    const sign = ({ id = `msg_${name}`, text = body, by = [secret], ageSeconds = 0 } = {}) =>
      signatureHeaders({
        id,
        timestampSeconds: Math.floor(Date.now() / 1000) - ageSeconds,
        body: text,
        secrets: by.map(secretBytes),
      });
    const post = async (headers: Record<string, string>, text = body) =>
      (await fetch(receiver.url, { method: 'POST', headers, body: text })).status;
    const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    expect(await post(sign({ by: [other] }))).toBe(401);
    expect(await post(sign(), body.replace('é', 'e'))).toBe(401);
    expect(await post({ ...sign(), 'webhook-id': 'msg_2' })).toBe(401);
    expect(await post(sign({ ageSeconds: 400 }))).toBe(401);
    expect(await post(sign({ ageSeconds: -400 }))).toBe(401);
    expect([400, 401]).toContain(await post({ ...sign(), 'webhook-timestamp': 'now' }));
    expect([400, 401]).toContain(await post({ 'content-type': 'application/json' }));
    expect(linesWith(`msg_${name}`)).toBe(0);
    for (const by of [[secret], [secret], [other, secret], [secret, other]]) {
      expect(await post(sign({ by }))).toBe(204);
    }
    expect(linesWith(`msg_${name}`)).toBe(1);
  });
});
