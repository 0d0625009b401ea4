import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, api } from '../../api/client.ts';
import type { Endpoint, EndpointWithSecret } from '../../api/types.ts';
import { notify } from '../../ui/toasts.tsx';
import { endpointsKey } from '../delivery/calls.ts';
import { reasonOf } from '../delivery/use-retries.ts';
import classes from '../form.module.css';
import { type FieldName, faultsByField, toChange, toNewEndpoint, valuesOf } from './form-values.ts';

type FieldProps = { label: string; description?: string; placeholder?: string; maxLength?: number };

const fields: Readonly<Record<Exclude<FieldName, 'tenant'>, FieldProps>> = {
  url: { label: 'URL', placeholder: 'https://hooks.example.com/in', maxLength: 2000 },
  event_types: {
    label: 'Event types',
    description: 'Such as incident.created, incident.resolved; * = all',
    maxLength: 4000,
  },
  description: { label: 'Description', maxLength: 500 },
  max_attempts: {
    label: 'Attempts before a delivery is abandoned',
    description: 'Empty: 8, or what the service is set to',
    maxLength: 6,
  },
  retry_schedule: {
    label: 'Seconds before attempt 2, 3, …',
    description: 'Such as 5, 300, 1800; the last repeats. Empty: the default schedule',
    maxLength: 1000,
  },
  rate_limit: {
    label: 'Deliveries a second, at most',
    description: 'Empty: no limit',
    maxLength: 6,
  },
};

export type EndpointFormProps = {
  /** undefined: a new one. */
  endpoint: Endpoint | undefined;
  tenant: string | undefined;
  onMade: (endpoint: EndpointWithSecret) => void;
};

/** The settings of an endpoint. What the service refuses stands at the field it speaks of. */
export function EndpointForm({ endpoint, tenant, onMade }: EndpointFormProps): ReactNode {
  const client = useQueryClient();
  const [before, setBefore] = useState(() => valuesOf(endpoint, tenant));
  const [values, setValues] = useState(before);
  const change = toChange(before, values);
  const isChanged = Object.keys(change).length > 0;
  const save = useMutation({
    mutationFn: (): Promise<Endpoint | EndpointWithSecret> =>
      endpoint === undefined
        ? api.post<EndpointWithSecret>('/webhook/endpoints', toNewEndpoint(values))
        : api.patch<Endpoint>(`/webhook/endpoints/${encodeURIComponent(endpoint.id)}`, change),
    onSuccess: (saved) => {
      void client.invalidateQueries({ queryKey: endpointsKey });
      if ('secret' in saved) {
        onMade(saved);
        return;
      }
      notify({ text: 'Saved' });
      const now = valuesOf(saved);
      setBefore(now);
      setValues(now);
    },
  });
  const faults = faultsOf(save.error);
  const field = (name: FieldName, props: FieldProps) => (
    <TextInput
      key={name}
      name={name}
      {...props}
      autoComplete="off"
      spellCheck={false}
      value={values[name]}
      error={faults[name]}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setValues((all) => ({ ...all, [name]: text }));
        if (faults[name] !== undefined) save.reset();
      }}
    />
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!save.isPending) save.mutate();
  };
  return (
    <form className={classes.form} onSubmit={submit} aria-label="Settings of the endpoint">
      {endpoint === undefined && field('tenant', { label: 'Tenant', maxLength: 128 })}
      {Object.entries(fields).map(([name, props]) => field(name as FieldName, props))}
      <p className={classes.formFault} role="alert">
        {faults['']}
      </p>
      <div className={classes.answers}>
        <Button
          type="submit"
          variant="filled"
          loading={save.isPending}
          disabled={endpoint !== undefined && !isChanged}
        >
          {endpoint === undefined ? 'Make the endpoint' : 'Save changes'}
        </Button>
      </div>
    </form>
  );
}

/** The URL's own refusals name no field: they are about it. */
const urlCodes = ['target_invalid', 'target_blocked'];

function faultsOf(error: Error | null): Partial<Record<FieldName | '', string>> {
  if (error === null) return {};
  if (error instanceof ApiError && error.errors.length > 0) return faultsByField(error.errors);
  if (error instanceof ApiError && urlCodes.includes(error.code)) return { url: error.detail };
  return { '': reasonOf(error) };
}
