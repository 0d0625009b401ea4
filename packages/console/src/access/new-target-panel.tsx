import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { MadeTarget, NewTarget, NotifyTestResult } from '../api/types.ts';
import {
  type NoticeKind,
  noticeKinds,
  noticeTexts,
  type Severity,
  type TargetKind,
} from '../api/values.ts';
import { ActionForm } from '../ui/form.tsx';
import { MakePanel, ShownOnce } from '../ui/make-panel.tsx';
import { useForm } from '../ui/use-form.ts';
import { noticesKey, tellTest, useTargetTest } from './use-access.ts';
import { addressOf } from './words.ts';

/** The form for somebody to be told. Of a webhook it then shows the secret, this once. */
export function NewTargetPanel({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <MakePanel<MadeTarget>
      what="target"
      nameOf={addressOf}
      form={(onMade) => <TargetForm onMade={onMade} />}
      onClose={onClose}
    >
      {(target) => <Made target={target} onClose={onClose} />}
    </MakePanel>
  );
}

function Made({ target, onClose }: { target: MadeTarget; onClose: () => void }): ReactNode {
  const { isPending, mutate: test } = useTargetTest();
  return (
    <ShownOnce
      secret={target.secret}
      noun="secret"
      {...(target.secret === null && { answer: 'Close' })}
      others={
        <Button loading={isPending} onClick={() => test(target)}>
          Test it
        </Button>
      }
      onClose={onClose}
    >
      <strong>{addressOf(target)}</strong> is told from now on.
      {target.secret !== null &&
        ' Its receiver checks signatures with this secret. It shows this once: keep it now.'}
    </ShownOnce>
  );
}

type Values = {
  kind: TargetKind;
  address: string;
  tenant: string;
  severity: Severity;
  isAll: boolean;
  kinds: readonly NoticeKind[];
};

/** The body for a new target. */
function toNewTarget({ kind, address, tenant, severity, isAll, kinds }: Values): NewTarget {
  return {
    kind,
    ...(kind === 'webhook' ? { url: address.trim() } : { to: address.trim() }),
    ...(tenant.trim() !== '' && { tenant: tenant.trim() }),
    min_severity: severity,
    ...(!isAll && { kinds: [...kinds] }),
  };
}

function TargetForm({ onMade }: { onMade: (target: MadeTarget) => void }): ReactNode {
  const form = useForm<Values, MadeTarget>({
    first: {
      kind: 'webhook',
      address: '',
      tenant: '',
      severity: 'warning',
      isAll: true,
      kinds: [],
    },
    call: (values) => api.post<MadeTarget>('/notify/targets', toNewTarget(values)),
    tries: async (values) =>
      tellTest(
        await api.post<NotifyTestResult>('/notify/test', toNewTarget(values)),
        values.address.trim(),
      ),
    onDone: onMade,
    hasSecret: true,
    changes: noticesKey,
    renamed: { url: 'address', to: 'address' },
  });
  const { values, faults, set } = form;
  const isWebhook = values.kind === 'webhook';
  const isTold = (kind: NoticeKind) => values.tenant.trim() === '' || kind.startsWith('endpoints_');
  return (
    <ActionForm
      label="Tell somebody"
      {...form.sent}
      button="Tell from now on"
      isFaultAbove
      others={
        <Button
          {...form.trial}
          {...(isWebhook && { title: 'Its signature is of this test: the secret comes later' })}
        >
          Test it
        </Button>
      }
    >
      <NativeSelect
        label="Told by"
        {...form.choice('kind')}
        data={[
          { value: 'webhook', label: 'webhook, signed' },
          { value: 'email', label: 'e-mail' },
        ]}
      />
      <TextInput
        label={isWebhook ? 'URL' : 'Address'}
        description={`Such as ${isWebhook ? 'https://pager.example.com/in' : 'ops@example.com'}`}
        maxLength={2000}
        {...form.text('address')}
      />
      <NativeSelect
        label="From severity"
        {...form.choice('severity')}
        data={[
          { value: 'critical', label: 'critical: what cannot wait, such as a store that is lost' },
          { value: 'warning', label: 'warning: also an endpoint that fails' },
          { value: 'info', label: 'info: also an export that is done' },
        ]}
      />
      <TextInput
        label="Tenant"
        description="Such as TX, for its own people: they are told of its endpoints, without commands and links. Empty: of all, for operators"
        maxLength={128}
        {...form.text('tenant')}
      />
      <Checkbox label="Of everything" {...form.box('isAll')} />
      {!values.isAll && (
        <Checkbox.Group
          label="Only when"
          value={[...values.kinds]}
          error={faults.kinds}
          onChange={(chosen) => set({ kinds: chosen })}
        >
          {noticeKinds.filter(isTold).map((kind) => (
            <Checkbox key={kind} mt={8} value={kind} label={noticeTexts[kind]} />
          ))}
        </Checkbox.Group>
      )}
    </ActionForm>
  );
}
