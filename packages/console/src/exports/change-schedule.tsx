import { Button, PasswordInput, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { Schedule, ScheduleChange } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { ActionForm, faultsOf } from '../ui/form.tsx';
import { exportsKey } from '../ui/poll.tsx';
import { notify } from '../ui/toasts.tsx';
import { isBucket, WebhookBox } from './new-schedule-panel.tsx';
import { schedulePath } from './use-schedules.ts';

type Texts = { cron: string; to: string; keyId: string; secret: string };
type Values = Texts & { webhook: boolean };

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
  const [values, setValues] = useState<Values>({ cron, to, webhook, keyId: '', secret: '' });
  const change = toScheduleChange(schedule, values);
  const save = useAct({
    call: () => api.patch<Schedule>(schedulePath(id), change),
    onDone: () => {
      notify({ text: `Changed ${name}` });
      onEnd();
    },
    changes: exportsKey,
  });
  const faults = faultsOf(save.error, ['cron', 'to', 'credentials'], { url: 'to' });
  const set = (change: Partial<Values>) => {
    setValues((before) => ({ ...before, ...change }));
    save.reset();
  };
  const field = (own: keyof Texts, label: string, fault?: string) => ({
    ...{ label, value: values[own], error: fault, autoComplete: 'off', maxLength: 1000 },
    onChange: (event: { currentTarget: { value: string } }) =>
      set({ [own]: event.currentTarget.value }),
  });
  return (
    <ActionForm
      label="Change the schedule"
      call={save}
      onSend={() => save.mutate()}
      isReady={Object.keys(change).length > 0}
      button={change.to || change.credentials ? 'Try the place, and save' : 'Save changes'}
      others={<Button onClick={onEnd}>Cancel</Button>}
      fault={faults['']}
      isFaultAbove
    >
      <TextInput
        {...field('cron', 'When: minute, hour, day, month, weekday, in UTC', faults['cron'])}
      />
      <TextInput
        {...field('to', 'To', faults['to'])}
        description="From the next run on. A run that is under way ends where it began"
        spellCheck={false}
      />
      {isBucket(values.to) && (
        <>
          <TextInput
            {...field('keyId', 'Access key id', faults['credentials'])}
            description="Empty: the key that it has, in the same bucket"
            spellCheck={false}
          />
          <PasswordInput {...field('secret', 'Secret access key')} />
        </>
      )}
      <WebhookBox isOn={values.webhook} onChange={(isOn) => set({ webhook: isOn })} />
    </ActionForm>
  );
}
