import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../../test/smtp.ts';
import { createEmailChannel } from '../checks/notices/email.ts';
import { failFor, type Looking, startLooking } from './testing/looking.ts';

let service: TestService;
let smtp: SmtpReceiver;
let process: Looking;
let seen = 0;
beforeAll(async () => {
  smtp = await startSmtpReceiver();
  const env = {
    SVC_SMTP_URL: `smtp://sender:se%40cret@127.0.0.1:${smtp.port}`,
    SVC_SMTP_FROM: 'svcctl@acme.example',
    SVC_PUBLIC_URL: 'https://svcctl.example',
  };
  service = await startTestService({ ...env, SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
  process = await startLooking(service, env);
});
afterEach(async () => {
  smtp.refuse({});
  for (const table of ['notify_targets', 'notice_sends', 'notices', 'webhook_endpoints'])
    await service.db.pool.query(`delete from ${table}`);
  seen = smtp.mails.length;
});
afterAll(async () => {
  await process.stop();
  await service.stop();
  await smtp.close();
});

async function add(to = 'ops@mail.example') {
  const made = await service.call('POST', '/notify/targets', { body: { kind: 'email', to } });
  expect(made.status, made.text).toBe(201);
  return made.json;
}

test.each([
  '',
  'ops',
  'ops@mail.example, all@mail.example',
  'Ops <ops@mail.example>',
  'ops@mail.example\r\nBcc: all@mail.example',
])('refuses the address %j', async (to) => {
  const body = { kind: 'email', to };
  const refused = await service.call('POST', '/notify/targets', { body });
  expect(refused.json).toMatchObject({ status: 400, code: 'request_invalid' });
});

test('a test is mailed at once, to an address that has no secret', async () => {
  const { id, ...made } = await add();
  expect(made).toMatchObject({ kind: 'email', to: 'ops@mail.example', url: null, secret: null });
  const answered = await service.call('POST', `/notify/targets/${id}/test`);
  expect(answered.json).toMatchObject({ delivered: true, error: null, status: 250 });
  expect(smtp.mails[seen]).toMatchObject({
    from: 'svcctl@acme.example',
    to: ['ops@mail.example'],
    auth: '\0sender\0se@cret',
    headers: {
      subject: '[svcctl] This is a test, asked for by first admin',
      'auto-submitted': 'auto-generated',
    },
  });
});

test('a refusal is told by the test, with the words of the server', async () => {
  const { id } = await add();
  smtp.refuse({ RCPT: '550 no such user here' });
  const { json } = await service.call('POST', `/notify/targets/${id}/test`);
  expect(json).toMatchObject({ delivered: false, status: 550 });
  expect(json.error).toContain('no such user here');
  expect(JSON.stringify(json)).not.toContain('cret');
});

test('a trouble is mailed with what, since when, what to do and where, and again when it failed', async () => {
  await add();
  smtp.refuse({ DATA: '451 later' });
  const id = await failFor(service.db, 7200);
  await process.look();
  await expect
    .poll(async () => (await service.call('GET', '/notify/targets')).json.data[0].last_send?.error)
    .toContain('451 later');
  smtp.refuse({});
  await process.pass(60);
  await process.send();
  await smtp.waitFor(seen + 1);
  const mail = smtp.mails[seen];
  expect(mail?.headers.subject).toBe('[svcctl] Webhooks of TX to tx.example keep failing');
  expect(mail?.headers['message-id']).toMatch(/^<nts_\w{16}@acme\.example>$/);
  expect(mail?.text).toMatch(
    /^WARNING {2}Webhooks of TX to tx\.example keep failing\.\nSince \d{4}-\d\d-\d\d \d\d:\d\d UTC, tenant TX\.\n/,
  );
  expect(mail?.text).toContain(`svcctl endpoints show ${id}`);
  expect(mail?.text).toContain(
    `https://svcctl.example/#/endpoints?health=failing&panel=endpoint/${id}`,
  );
});

test('a mail to the people of a tenant has no link and names no command', async () => {
  const body = { kind: 'email', to: 'jo@tx.example', tenant: 'TX' };
  expect((await service.call('POST', '/notify/targets', { body })).status).toBe(201);
  await failFor(service.db, 3700);
  await process.look();
  const mail = await smtp.waitFor(seen + 1).then(() => smtp.mails[seen]);
  expect(mail?.to).toEqual(['jo@tx.example']);
  expect(mail?.text).toMatch(/About the webhooks of TX, message/);
  expect(mail?.text).not.toMatch(/svcctl [a-z]|https?:|SVC_/);
});

const tools = { from: 'a@b.example', origin: null, signal: new AbortController().signal };
const to = { kind: 'email', address: 'c@d.example', secret: null } as const;
const message = {
  id: 'nts_1',
  tenant: null,
  items: [],
  more: 0,
  createdAt: '2026-03-05T14:07:09.123456Z',
};

test('a password is not sent in the clear to another machine', async () => {
  // This address leads to this machine, but does not look like it.
  const smtpUrl = `smtp://sender:secret@0.0.0.0:${smtp.port}`;
  const channel = createEmailChannel({ ...tools, smtpUrl, timeoutMillis: 15_000 });
  expect((await channel(to, message)).error).toContain('STARTTLS');
  expect(smtp.mails).toHaveLength(seen);
});

test('a server that never answers is not waited for, nor is it when the service stops', async () => {
  smtp.refuse({ EHLO: '' });
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`;
  const slow = createEmailChannel({ ...tools, smtpUrl, timeoutMillis: 100 });
  expect(await slow(to, message)).toMatchObject({ status: null, isCut: false });
  const stopping = new AbortController();
  const cut = createEmailChannel({
    ...tools,
    smtpUrl,
    timeoutMillis: 60_000,
    signal: stopping.signal,
  });
  const ended = cut(to, message);
  stopping.abort();
  expect(await ended).toMatchObject({ isCut: true });
});
