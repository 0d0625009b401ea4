import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { MadeTarget, NewTarget } from '../api/types.ts';
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
import { noticesKey } from './use-access.ts';
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
      {(target) => (
        <ShownOnce
          secret={target.secret}
          noun="secret"
          {...(target.secret === null && { answer: 'Close' })}
          onClose={onClose}
        >
          <strong>{addressOf(target)}</strong> is told from now on. TEST in the list tries it.
          {target.secret !== null &&
            ' Its receiver checks signatures with this secret. It shows this once: keep it now.'}
        </ShownOnce>
      )}
    </MakePanel>
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
    onDone: onMade,
    hasSecret: true,
    changes: noticesKey,
    renamed: { url: 'address', to: 'address' },
  });
  const { values, faults, set } = form;
  const isWebhook = values.kind === 'webhook';
  const isTold = (kind: NoticeKind) => values.tenant.trim() === '' || kind.startsWith('endpoints_');
  return (
    <ActionForm label="Tell somebody" {...form.sent} button="Tell from now on" isFaultAbove>
      <NativeSelect
        label="How"
        {...form.choice('kind')}
        data={[
          { value: 'webhook', label: 'by webhook, signed' },
          { value: 'email', label: 'by e-mail' },
        ]}
      />
      <TextInput
        label={isWebhook ? 'URL' : 'Address'}
        placeholder={isWebhook ? 'https://pager.example.com/in' : 'ops@example.com'}
        maxLength={2000}
        {...form.text('address')}
      />
      <TextInput
        label="Only of the endpoints of a tenant"
        description="For its own people: they read no commands, and get no link into the console."
        placeholder="all that is told"
        maxLength={128}
        {...form.text('tenant')}
      />
      <NativeSelect
        label="What matters as much, or more"
        {...form.choice('severity')}
        data={['info', 'warning', 'critical']}
      />
      <Checkbox label="Of everything" {...form.box('isAll')} />
      {!values.isAll && (
        <Checkbox.Group
          label="When"
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
