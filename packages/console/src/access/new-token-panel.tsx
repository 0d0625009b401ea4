import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { MadeToken, NewToken } from '../api/types.ts';
import { presets, type Scope, scopes, scopeTexts, storeScopes } from '../api/values.ts';
import { useCloseWithSecret } from '../ui/act.ts';
import { dayMillis } from '../ui/days.ts';
import { ActionForm } from '../ui/form.tsx';
import { MakePanel, ShownOnce } from '../ui/make-panel.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { useSession } from '../ui/session.ts';
import { useForm } from '../ui/use-form.ts';
import { accessKey } from './use-access.ts';
import { scopesText } from './words.ts';

/** The form for a new token. When it is made, the panel shows it, this once. */
export function NewTokenPanel({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <MakePanel<MadeToken>
      what="token"
      nameOf={({ name }) => name}
      form={(onMade) => <TokenForm onMade={onMade} />}
      onClose={onClose}
    >
      {(token) => <Made token={token} onClose={onClose} />}
    </MakePanel>
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
  stores: string;
  addresses: string;
  expires_at: string;
};

/** The body for a new token. */
function toNewToken(values: Values, nowMillis: number): NewToken {
  const tenants = listOf(values.tenants);
  const stores = listOf(values.stores);
  const addresses = listOf(values.addresses);
  const days = Number(values.expires_at);
  return {
    name: values.name.trim(),
    ...(values.preset === ownScopes ? { scopes: [...values.scopes] } : { preset: values.preset }),
    ...(tenants.length > 0 && { tenants }),
    ...(stores.length > 0 && { stores }),
    ...(addresses.length > 0 && { addresses }),
    ...(Number.isFinite(days) && {
      expires_at: new Date(nowMillis + days * dayMillis).toISOString().replace('Z', '000Z'),
    }),
  };
}

/** What stands between commas or on lines. */
function listOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function TokenForm({ onMade }: { onMade: (token: MadeToken) => void }): ReactNode {
  const { hasScope } = useSession();
  const mayGive = Object.entries(presets).filter(([, has]) => has.every(hasScope));
  const form = useForm<Values, MadeToken>({
    first: {
      name: '',
      preset: hasScope('admin') ? 'support-readonly' : ownScopes,
      scopes: hasScope('admin') ? ['enrichment:read'] : [],
      tenants: '',
      stores: '',
      addresses: '',
      expires_at: '30',
    },
    call: (values) => api.post<MadeToken>('/tokens', toNewToken(values, Date.now())),
    onDone: onMade,
    hasSecret: true,
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
          ...mayGive.map(([name, has]) => ({ value: name, label: scopesText(has) })),
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
          {scopes.filter(hasScope).map((scope) => (
            <Checkbox
              key={scope}
              mt={8}
              value={scope}
              label={scope}
              description={scopeTexts[scope]}
            />
          ))}
        </Checkbox.Group>
      )}
      <TextInput
        label="Tenants"
        description="Separated by commas. Empty: all that you reach"
        {...form.text('tenants')}
      />
      <TextInput
        label="Stores"
        description={`Instead of tenants, as TX/DFW, separated by commas, with ${storeScopes.join(', ')} alone`}
        {...form.text('stores')}
      />
      <TextInput
        label="From"
        description="Networks such as 10.0.0.0/8, separated by commas. Empty: anywhere"
        {...form.text('addresses')}
      />
      <NativeSelect label="Expires" {...form.choice('expires_at')} data={expiries} />
    </ActionForm>
  );
}

const overlaps = [
  { value: '0', label: 'ends at once' },
  { value: '3600', label: 'is taken for an hour' },
  { value: '86400', label: 'is taken for a day' },
  { value: '604800', label: 'is taken for a week' },
];

/** Gives a token another secret, and shows that, this once. */
export function RotatePanel({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const [made, setMade] = useState<MadeToken | null>(null);
  const form = useForm<{ overlap_seconds: string }, MadeToken>({
    first: { overlap_seconds: '86400' },
    call: ({ overlap_seconds: seconds }) =>
      api.post<MadeToken>(`/tokens/${encodeURIComponent(id)}/rotate`, {
        overlap_seconds: Number(seconds),
      }),
    onDone: setMade,
    hasSecret: true,
    changes: accessKey,
  });
  return (
    <Panel
      kind="TOKEN"
      title={made?.name ?? id}
      id="rotate"
      closeLabel="Close the rotation"
      onClose={useCloseWithSecret(onClose)}
    >
      <PanelBody>
        {made === null ? (
          <ActionForm label="Another secret" {...form.sent} button="Rotate the token" isFaultAbove>
            <p className="muted">
              The token gets another secret and stays what it is. Its console sessions end, but not
              this one.
            </p>
            <NativeSelect
              label="The old secret"
              description="Meanwhile it neither makes nor rotates tokens, and signs in nowhere"
              {...form.choice('overlap_seconds')}
              data={overlaps}
            />
          </ActionForm>
        ) : (
          <Made token={made} onClose={onClose} />
        )}
      </PanelBody>
    </Panel>
  );
}

function Made({ token, onClose }: { token: MadeToken; onClose: () => void }): ReactNode {
  return (
    <ShownOnce
      secret={token.token}
      noun="token"
      below={
        <p className="muted">
          It signs in to this console, and to the command line with <code>svcctl login</code>.
        </p>
      }
      onClose={onClose}
    >
      This is the token of <strong>{token.name}</strong>. It is shown this once: hand it on now.
    </ShownOnce>
  );
}
