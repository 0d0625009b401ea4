import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useServiceCli } from './testing/service-cli.ts';

const { service, cli, jsonOf } = useServiceCli({ SVC_ROLES: 'api' });

test('a token is made for a colleague, who uses it, found in the log, and revoked', async () => {
  const made = await jsonOf('tokens create --name Kim --preset support-readonly --json');
  const used = await cli('records ls', made);
  expect(used).toMatchObject({ code: 0 });
  const exported = await cli('analytics export --tenant TX --month 2001-01', made);
  expect(exported.stdout).toContain('tenant,store,month');

  expect(await jsonOf(`audit ls --actor ${made.id} --json action,actor`)).toEqual([
    { action: 'export.csv', actor: { kind: 'token', token_id: made.id, name: 'Kim' } },
  ]);
  expect(await cli(`tokens revoke ${made.id} --yes`)).toMatchObject({ code: 0 });
  expect(await cli('records ls', made)).toMatchObject({ code: 4 });
  const [revoked] = await jsonOf('audit ls --action token.revoke --json target');
  expect(revoked).toEqual({ target: made.id });
});

test('a view that the console saved is listed, and deleted by its name', async () => {
  await service.call('PUT', '/views/parked', { body: { address: '#/dlq?status=abandoned' } });
  expect(await jsonOf('views ls --json name,address,own')).toEqual([
    { name: 'parked', address: '#/dlq?status=abandoned', own: true },
  ]);
  expect(await cli('views rm parked')).toMatchObject({ code: 0 });
  expect(await cli('views rm parked')).toMatchObject({ code: 3 });
  expect(await jsonOf('views ls --json')).toEqual([]);
});

test('an entry that was changed past the service is named', async () => {
  expect((await cli('audit verify')).code).toBe(0);
  const [entry] = await service.db.query<{ id: string }>(sql`
    update audit_log set token_name = 'nobody' where action = 'token.revoke' returning id::text as id`);
  const { code, stdout, stderr } = await cli('audit verify');
  expect(code).not.toBe(0);
  expect(`${stdout}${stderr}`).toContain(`Entry ${entry?.id} is not what was written`);
});
