import { expect, test } from 'vitest';
import type { Schedule } from '../api/types.ts';
import { toScheduleChange } from './change-schedule.tsx';

const stored = { cron: '0 2 * * *', to: 's3://acme/x?region=eu', webhook: false };
const schedule = stored as Schedule;
const same = {
  cron: '0 2 * * * ',
  to: ' s3://acme/x?region=eu',
  webhook: false,
  keyId: '',
  secret: '',
};

test('only what was changed is sent, and a key only with its bucket', () => {
  expect(toScheduleChange(schedule, same)).toEqual({});
  expect(toScheduleChange(schedule, { ...same, to: '/srv/x', keyId: 'left' })).toEqual({
    to: '/srv/x',
  });
  expect(toScheduleChange(schedule, { ...same, webhook: true })).toEqual({ webhook: true });
  expect(toScheduleChange(schedule, { ...same, cron: '0 3 * * *', keyId: 'AK ' })).toEqual({
    cron: '0 3 * * *',
    credentials: { access_key_id: 'AK', secret_access_key: '' },
  });
});
