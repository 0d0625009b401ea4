import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { MadeToken, NewToken } from '../api/types.ts';
import { presets, type Scope, scopes } from '../api/values.ts';
import { useAct } from '../ui/act.ts';
import { Copied } from '../ui/copy-button.tsx';
import { ActionForm, faultsOf } from '../ui/form.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
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

const fields = ['name', 'preset', 'scopes', 'tenants', 'expires_at'];
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
  expiry: string;
};

/** The body for a new token. */
export function toNewToken(values: Values, nowMillis: number): NewToken {
  const tenants = values.tenants
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const days = Number(values.expiry);
  return {
    name: values.name.trim(),
    ...(values.preset === ownScopes ? { scopes: [...values.scopes] } : { preset: values.preset }),
    ...(tenants.length > 0 && { tenants }),
    ...(Number.isFinite(days) && {
      expires_at: new Date(nowMillis + days * 86_400_000).toISOString().replace('Z', '000Z'),
    }),
  };
}

function TokenForm({ onMade }: { onMade: (token: MadeToken) => void }): ReactNode {
  const [values, setValues] = useState<Values>({
    name: '',
    preset: 'support-readonly',
    scopes: ['enrichment:read'],
    tenants: '',
    expiry: '30',
  });
  const make = useAct({
    call: () => api.post<MadeToken>('/tokens', toNewToken(values, Date.now())),
    onDone: onMade,
    changes: accessKey,
  });
  const set = (change: Partial<Values>) => {
    setValues((before) => ({ ...before, ...change }));
    make.reset();
  };
  const faults = faultsOf(make.error, fields);
  return (
    <ActionForm
      label="A new token"
      call={make}
      onSend={() => make.mutate()}
      button="Make the token"
      fault={faults['']}
      isFaultAbove
    >
      <TextInput
        label="Name"
        description="Who or what it is for, as the audit log will say it"
        autoComplete="off"
        maxLength={200}
        value={values.name}
        error={faults.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <NativeSelect
        label="What it may do"
        value={values.preset}
        data={[
          ...Object.entries(presets).map(([name, has]) => ({
            value: name,
            label: name === 'admin' ? 'admin: everything' : `${name}: ${has.join(', ')}`,
          })),
          { value: ownScopes, label: 'these scopes …' },
        ]}
        error={faults.preset}
        onChange={(event) => set({ preset: event.currentTarget.value as Values['preset'] })}
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
        autoComplete="off"
        spellCheck={false}
        value={values.tenants}
        error={faults.tenants}
        onChange={(event) => set({ tenants: event.currentTarget.value })}
      />
      <NativeSelect
        label="Expires"
        value={values.expiry}
        data={expiries}
        error={faults.expires_at}
        onChange={(event) => set({ expiry: event.currentTarget.value })}
      />
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
