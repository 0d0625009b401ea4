import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { MadeToken, NewToken } from '../api/types.ts';
import { presets, type Scope, scopes } from '../api/values.ts';
import { Copied } from '../ui/copy-button.tsx';
import { dayMillis } from '../ui/days.ts';
import { ActionForm } from '../ui/form.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { useForm } from '../ui/use-form.ts';
import { accessKey } from './use-access.ts';

/** The form for a new token. When it is made, the panel shows it, this once. */
export function NewTokenPanel({ onClose }: { onClose: () => void }): ReactNode {
  const [made, setMade] = useState<MadeToken | null>(null);
  return (
    <Panel
      kind="TOKEN"
      title={made?.name ?? 'new'}
      id="new-token"
      closeLabel="Close the new token"
      onClose={onClose}
    >
      <PanelBody>
        {made === null ? <TokenForm onMade={setMade} /> : <Made token={made} onClose={onClose} />}
      </PanelBody>
    </Panel>
  );
}

const ownScopes = 'own';
const expiries = [
  { value: '7', label: 'in 7 days' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: 'never', label: 'never' },
];

type Values = {
  name: string;
  preset: keyof typeof presets | typeof ownScopes;
  scopes: readonly Scope[];
  tenants: string;
  expires_at: string;
};

/** The body for a new token. */
function toNewToken(values: Values, nowMillis: number): NewToken {
  const tenants = values.tenants
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const days = Number(values.expires_at);
  return {
    name: values.name.trim(),
    ...(values.preset === ownScopes ? { scopes: [...values.scopes] } : { preset: values.preset }),
    ...(tenants.length > 0 && { tenants }),
    ...(Number.isFinite(days) && {
      expires_at: new Date(nowMillis + days * dayMillis).toISOString().replace('Z', '000Z'),
    }),
  };
}

function TokenForm({ onMade }: { onMade: (token: MadeToken) => void }): ReactNode {
  const form = useForm<Values, MadeToken>({
    first: {
      name: '',
      preset: 'support-readonly',
      scopes: ['enrichment:read'],
      tenants: '',
      expires_at: '30',
    },
    call: (values) => api.post<MadeToken>('/tokens', toNewToken(values, Date.now())),
    onDone: onMade,
    changes: accessKey,
  });
  const { values, faults, set } = form;
  return (
    <ActionForm label="A new token" {...form.sent} button="Make the token" isFaultAbove>
      <TextInput
        label="Name"
        description="Who or what it is for, as the audit log will say it"
        {...form.text('name')}
        maxLength={200}
      />
      <NativeSelect
        label="What it may do"
        {...form.choice('preset')}
        data={[
          ...Object.entries(presets).map(([name, has]) => ({
            value: name,
            label: name === 'admin' ? 'admin: everything' : `${name}: ${has.join(', ')}`,
          })),
          { value: ownScopes, label: 'these scopes …' },
        ]}
      />
      {values.preset === ownScopes && (
        <Checkbox.Group
          label="Scopes"
          value={[...values.scopes]}
          error={faults.scopes}
          onChange={(chosen) => set({ scopes: chosen })}
        >
          {scopes.map((scope) => (
            <Checkbox key={scope} size="xs" mt={8} value={scope} label={scope} />
          ))}
        </Checkbox.Group>
      )}
      <TextInput
        label="Tenants"
        description="Separated by commas. Empty: all that you reach"
        {...form.text('tenants')}
      />
      <NativeSelect label="Expires" {...form.choice('expires_at')} data={expiries} />
    </ActionForm>
  );
}

function Made({ token, onClose }: { token: MadeToken; onClose: () => void }): ReactNode {
  return (
    <>
      <p className="muted">
        This is the token of <strong>{token.name}</strong>. It is shown this once: hand it on now.
      </p>
      <Copied text={token.token} label="Copy the token" isSecret />
      <p className="muted">
        It signs in to this console, and to the command line with <code>svcctl login</code>.
      </p>
      <div className="flex wrap end gap-8">
        <Button variant="filled" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </>
  );
}
