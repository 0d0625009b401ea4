import { Button, Checkbox, PasswordInput, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { Schedule, ScheduleChange } from '../api/types.ts';
import { ActionForm } from '../ui/form.tsx';
import { exportsKey } from '../ui/poll.tsx';
import { notify } from '../ui/toasts.tsx';
import { useForm } from '../ui/use-form.ts';
import { cronLabel, isBucket, webhookWords } from './new-schedule-panel.tsx';
import { schedulePath } from './use-schedules.ts';

type Values = { cron: string; to: string; keyId: string; secret: string; webhook: boolean };

/** The body for what was changed; empty when nothing was. Without a key the one that is stored stays. */
export function toScheduleChange(schedule: Schedule, values: Values): ScheduleChange {
  const { keyId, secret, webhook } = values;
  const [cron, to] = [values.cron.trim(), values.to.trim()];
  return {
    ...(cron !== schedule.cron && { cron }),
    ...(to !== schedule.to && { to }),
    ...(webhook !== schedule.webhook && { webhook }),
    ...(isBucket(to) &&
      (keyId.trim() !== '' || secret !== '') && {
        credentials: { access_key_id: keyId.trim(), secret_access_key: secret },
      }),
  };
}

/** The form for when a schedule runs and where it delivers. The service tries a place before it takes it. */
export function ChangeSchedule({
  schedule,
  onEnd,
}: {
  schedule: Schedule;
  onEnd: () => void;
}): ReactNode {
  const { cron, to, name, id, webhook } = schedule;
  const form = useForm<Values, Schedule>({
    first: { cron, to, webhook, keyId: '', secret: '' },
    call: (values) => api.patch<Schedule>(schedulePath(id), toScheduleChange(schedule, values)),
    onDone: () => {
      notify({ text: `Changed ${name}` });
      onEnd();
    },
    changes: exportsKey,
    renamed: { url: 'to', credentials: 'keyId' },
  });
  const change = toScheduleChange(schedule, form.values);
  return (
    <ActionForm
      label="Change the schedule"
      {...form.sent}
      isReady={Object.keys(change).length > 0}
      button={change.to || change.credentials ? 'Try the place, and save' : 'Save changes'}
      others={<Button onClick={onEnd}>Cancel</Button>}
      isFaultAbove
    >
      <TextInput label={cronLabel} {...form.text('cron')} maxLength={1000} />
      <TextInput
        label="To"
        description="From the next run on. A run that is under way ends where it began"
        {...form.text('to')}
        maxLength={1000}
      />
      {isBucket(form.values.to) && (
        <>
          <TextInput
            label="Access key id"
            description="Empty: the key that it has, in the same bucket"
            {...form.text('keyId')}
            maxLength={1000}
          />
          <PasswordInput label="Secret access key" {...form.text('secret')} maxLength={1000} />
        </>
      )}
      <Checkbox {...webhookWords} {...form.box('webhook')} />
    </ActionForm>
  );
}
