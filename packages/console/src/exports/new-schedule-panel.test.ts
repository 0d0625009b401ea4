import { expect, test } from 'vitest';
import { toNewSchedule } from './new-schedule-panel.tsx';

const values: Parameters<typeof toNewSchedule>[0] = {
  tenant: ' TX ',
  name: '',
  cron: '0 2 * * *',
  to: '/srv/exports/{date}',
  store: '',
  where: '',
  keyId: 'left from before',
  secret: 's',
  format: 'csv',
  starts: 'now',
  webhook: false,
  typed: true,
  lines: 'openai-chat',
  templateText: '',
};

test('what is left empty is left out, and a folder has no key', () => {
  expect(toNewSchedule(values)).toEqual({
    tenant: 'TX',
    cron: '0 2 * * *',
    to: '/srv/exports/{date}',
    format: 'csv',
    starts: 'now',
  });
});

test('a bucket has its key, and the secret is sent as it was given', () => {
  const to = ' s3://acme/x ';
  const made = toNewSchedule({ ...values, to, keyId: ' AK ', secret: ' s ', webhook: true });
  expect(made).toMatchObject({
    to: 's3://acme/x',
    webhook: true,
    credentials: { access_key_id: 'AK', secret_access_key: ' s ' },
  });
});

test('typed fields go with Parquet alone, and a template with NDJSON alone', () => {
  const [parquet, ndjson] = (['parquet', 'ndjson'] as const).map((format) =>
    toNewSchedule({ ...values, format }),
  );
  expect(parquet).toMatchObject({ typed: true });
  expect(parquet).not.toHaveProperty('template');
  expect(ndjson).toMatchObject({ template: 'openai-chat' });
  expect(ndjson).not.toHaveProperty('typed');
});

test('a template of one’s own goes as the JSON that it is', () => {
  const own = { ...values, lines: 'own', templateText: ' {"text": "{{label}}"} ' } as const;
  expect(toNewSchedule({ ...own, format: 'ndjson' })).toMatchObject({
    template: { text: '{{label}}' },
  });
  expect(toNewSchedule(own)).not.toHaveProperty('template');
});
