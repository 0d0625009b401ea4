import { Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { Fragment, type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type {
  Endpoint,
  EndpointChange,
  EndpointWithSecret,
  FilterTrial,
  NewEndpoint,
} from '../../api/types.ts';
import { orderings, stuckRules } from '../../api/values.ts';
import { shownTarget } from '../../ui/endpoint.tsx';
import { ActionForm } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/make-panel.tsx';
import { notify } from '../../ui/toasts.tsx';
import { differing, useForm } from '../../ui/use-form.ts';
import { useOnlyTenant } from '../only-tenant.ts';
import { endpointPath, endpointsKey } from '../query-keys.ts';
import {
  deliveryFields,
  deliveryTexts,
  type FieldProps,
  longFields,
  numeral,
  numeralOrNull,
  parsedDelivery,
  words,
} from './delivery-fields.ts';
import { TypeProposals } from './event-types-view.tsx';
import { FilterPreview } from './filter-preview.tsx';

const fields = {
  url: { label: 'URL', placeholder: 'https://hooks.example.com/in', maxLength: 2000 },
  event_types: {
    label: 'Event types',
    description: 'Such as incident.created, incident.*; * = all',
    maxLength: 4000,
  },
  stores: {
    label: 'Stores',
    description: 'Only their incidents, as DFW, IAH. Empty: any',
    maxLength: 4000,
  },
  where: {
    label: 'Filter',
    description:
      'What must hold of an incident, as score >= 0.9 and data.kind in ("a", "b"). Empty: any',
    maxLength: 2000,
  },
  name: { label: 'Name', maxLength: 200 },
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
  disable_after_days: {
    label: 'Disable it after so many days of failures',
    description: '1 to 30; notices say so a day before. Empty: never',
    maxLength: 3,
  },
  ordered: {
    label: 'One after the other',
    description: 'What was reported with the same store, or the same group',
    data: orderings,
  },
  when_stuck: {
    label: 'When one in order is abandoned',
    description: 'block: the others wait for a retry or a skip; pass: the next goes',
    data: stuckRules,
  },
  headers: {
    label: 'Headers to add',
    description:
      'One a line, as Authorization: Bearer … or Authorization: Basic user:password; a name alone, as Authorization:, takes it away. They are never shown again',
    maxLength: 10_000,
  },
} as const satisfies Readonly<Record<string, FieldProps>>;

/** What is seldom set, behind a fold. */
const rareFields = {
  uid: {
    label: 'Uid',
    description: 'What files of svcctl apply call it: letters, digits, ".", "_" and "-"',
    maxLength: 200,
  },
  labels: { label: 'Labels', description: 'One a line, as team=soc', maxLength: 10_000 },
  ...deliveryFields,
} as const satisfies Readonly<Record<string, FieldProps>>;

const typeLabels = [
  { value: 'push', label: 'push: they are sent to its URL' },
  { value: 'pull', label: 'pull: its receiver fetches them' },
];

/** What tells how to send. It means nothing where the receiver fetches what waits. */
const ofSending: readonly FieldName[] = [
  ...(['url', 'max_attempts', 'retry_schedule', 'rate_limit', 'disable_after_days'] as const),
  ...(['ordered', 'when_stuck', 'headers'] as const),
  ...(['timeout_seconds', 'max_in_flight', 'no_retry_on', 'certificate', 'key', 'ca'] as const),
];

type EndpointFormProps = {
  /** The endpoint to change; undefined for a new one. */
  endpoint: Endpoint | undefined;
  /** The tenant that a new endpoint begins with. */
  tenant: string | undefined;
  onMade: (endpoint: EndpointWithSecret) => void;
};

/** The form for the settings of an endpoint. A refusal of the service is shown at the field that it is about. */
export function EndpointForm({ endpoint, tenant, onMade }: EndpointFormProps): ReactNode {
  const only = useOnlyTenant();
  const [before, setBefore] = useState(() => valuesOf(endpoint, tenant));
  const [isOpen, setOpen] = useState(false);
  const form = useForm<FormValues, Endpoint | EndpointWithSecret>({
    first: before,
    call: (values) =>
      endpoint === undefined
        ? api.post<EndpointWithSecret>('/webhook/endpoints', toNewEndpoint(values))
        : api.patch<Endpoint>(endpointPath(endpoint.id), toChange(before, values)),
    onDone: (saved) => {
      if ('secret' in saved) return onMade(saved);
      for (const text of saved.warnings ?? []) notify({ text: `Mind: ${text}` });
      notify({ text: 'Saved' });
      const now = valuesOf(saved);
      setBefore(now);
      form.set(now);
    },
    hasSecret: endpoint === undefined,
    changes: endpointsKey,
  });
  const { values, faults, set } = form;
  const isChanged = Object.keys(toChange(before, values)).length > 0;
  const isMeant = (name: FieldName) => values.type === 'push' || !ofSending.includes(name);
  const field = (name: FieldName, { data, ...props }: FieldProps) => {
    if (!isMeant(name)) return null;
    const common = { name, ...props, ...form.text(name) };
    if (data !== undefined) return <NativeSelect key={name} {...common} data={[...data]} />;
    return longFields.includes(name) ? (
      <Textarea key={name} {...common} autosize minRows={name === 'where' ? 1 : 2} maxRows={8} />
    ) : (
      <TextInput key={name} {...common} />
    );
  };
  return (
    <ActionForm
      label="Settings of the endpoint"
      {...form.sent}
      isReady={endpoint === undefined || isChanged}
      button={endpoint === undefined ? 'Make the endpoint' : 'Save changes'}
      isFaultAbove
    >
      {endpoint === undefined &&
        only === undefined &&
        field('tenant', { label: 'Tenant', maxLength: 128 })}
      {endpoint === undefined && (
        <NativeSelect label="How it gets events" data={typeLabels} {...form.text('type')} />
      )}
      {Object.entries(fields).map(([name, props]) => (
        <Fragment key={name}>
          {field(name as FieldName, props)}
          {name === 'event_types' && (
            <TypeProposals
              typed={values.event_types}
              onTyped={(event_types) => set({ event_types })}
            />
          )}
          {name === 'where' && <FilterPreview trial={toTrial(values)} />}
        </Fragment>
      ))}
      <details
        open={isOpen || rareNames.some((name) => faults[name] !== undefined)}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary className="caps">Delivery, uid and labels</summary>
        <div className="stack gap-12">{rareNames.map((name) => field(name, rareFields[name]))}</div>
      </details>
    </ActionForm>
  );
}

const rareNames = Object.keys(rareFields) as (keyof typeof rareFields)[];

/** The fields of the form as typed. */
type FormValues = Record<FieldName, string>;
type FieldName = 'tenant' | 'type' | keyof typeof fields | keyof typeof rareFields;

/** The fields of the form for an endpoint, or for a new one. */
export function valuesOf(endpoint: Endpoint | undefined, tenant = ''): FormValues {
  const number = (value: number | null | undefined) => (value == null ? '' : String(value));
  return {
    tenant: endpoint?.tenant ?? tenant,
    type: endpoint?.type ?? 'push',
    url: endpoint?.url ?? '',
    event_types: endpoint?.event_types.join(', ') ?? '*',
    stores: endpoint?.stores?.join(', ') ?? '',
    where: endpoint?.where ?? '',
    name: endpoint?.name ?? '',
    description: endpoint?.description ?? '',
    uid: endpoint?.uid ?? '',
    labels: Object.entries(endpoint?.labels ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    max_attempts: number(endpoint?.max_attempts),
    retry_schedule: endpoint?.retry_schedule?.join(', ') ?? '',
    rate_limit: number(endpoint?.rate_limit),
    disable_after_days: number(endpoint?.disable_after_days),
    ...deliveryTexts(endpoint?.delivery),
    ordered: endpoint?.ordered ?? 'none',
    when_stuck: endpoint?.when_stuck ?? 'block',
    // Those to set or take away: their values are never shown.
    headers: '',
  };
}

/** The body for a new endpoint. Empty fields are left out, and get the service's defaults. */
export function toNewEndpoint(values: FormValues): NewEndpoint {
  const { url, labels, delivery, ...rest } = parsed(values);
  const set = withoutNulls({
    ...rest,
    labels: nullIfEmpty(labels),
    delivery: nullIfEmpty(withoutNulls(delivery)),
  });
  const where = values.type === 'pull' ? { type: 'pull' as const } : { url };
  return { tenant: values.tenant.trim(), ...where, ...set };
}

/** The body for a change: only what differs from what the form began with. Null means the default of the service. */
export function toChange(before: FormValues, values: FormValues): EndpointChange {
  const { delivery: old, ...oldRest } = parsed(before);
  const { delivery, ...rest } = parsed(values);
  const changed = nullIfEmpty(differing(old, delivery));
  return { ...differing(oldRest, rest), ...(changed && { delivery: changed }) };
}

function withoutNulls(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function nullIfEmpty<Fields extends object>(fields: Fields): Fields | null {
  return Object.keys(fields).length === 0 ? null : fields;
}

/** What the form asks for, to be tried; null while no tenant is named. */
export function toTrial(values: FormValues): FilterTrial | null {
  const { event_types, stores, where } = parsed(values);
  const tenant = values.tenant.trim();
  if (tenant === '') return null;
  return { tenant, event_types, ...(stores && { stores }), ...(where && { where }) };
}

/** The fields of the form, in the types of the API. */
function parsed(typed: FormValues) {
  const without = Object.entries(valuesOf(undefined)).filter(([name]) =>
    ofSending.includes(name as FieldName),
  );
  // What was typed before the type was chosen is not meant.
  const values = typed.type === 'pull' ? { ...typed, ...Object.fromEntries(without) } : typed;
  const types = words(values.event_types);
  // The name of a store may hold spaces.
  const stores = values.stores
    .split(',')
    .map((store) => store.trim())
    .filter((store) => store !== '');
  const schedule = words(values.retry_schedule).map(numeral);
  return {
    url: values.url.trim(),
    event_types: types.length === 0 ? ['*'] : types,
    stores: stores.length === 0 ? null : stores,
    where: values.where.trim() === '' ? null : values.where.trim(),
    name: values.name.trim() === '' ? null : values.name.trim(),
    description: values.description.trim() === '' ? null : values.description.trim(),
    uid: values.uid.trim() === '' ? null : values.uid.trim(),
    labels: labelsOf(values.labels),
    max_attempts: numeralOrNull(values.max_attempts),
    retry_schedule: schedule.length === 0 ? null : schedule,
    rate_limit: numeralOrNull(values.rate_limit),
    disable_after_days: numeralOrNull(values.disable_after_days),
    delivery: parsedDelivery(values),
    ordered: values.ordered as Endpoint['ordered'],
    when_stuck: values.when_stuck as Endpoint['when_stuck'],
    headers: headersOf(values.headers),
  };
}

/** The labels that are typed, one a line, each to its first `=`. */
function labelsOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()];
    }),
  );
}

/** The headers that are typed, a null for each that is to go; null where nothing is typed. */
function headersOf(text: string): Record<string, string | null> | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim(), value.join(':').trim() || null];
    }),
  );
}

/** Shows the secret of an endpoint, which can never be seen again: so a click beside the dialog does not close it. */
export function SecretDialog(props: {
  /** The endpoint whose secret is shown; null closes the dialog. */
  endpoint: EndpointWithSecret | null;
  onClose: () => void;
}): ReactNode {
  const { endpoint, onClose } = props;
  return (
    <Modal
      opened={endpoint !== null}
      onClose={onClose}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      centered
      size={520}
      title={`The secret of the endpoint ${endpoint === null ? '' : shownTarget(endpoint)}`}
    >
      {endpoint !== null && (
        <ShownOnce
          secret={endpoint.secret}
          noun="secret"
          below={endpoint.warnings?.map((text) => (
            <p key={text} className="muted">
              Mind: {text}
            </p>
          ))}
          onClose={onClose}
        >
          Its receiver checks signatures with it. It shows this once: keep it now.
        </ShownOnce>
      )}
    </Modal>
  );
}
