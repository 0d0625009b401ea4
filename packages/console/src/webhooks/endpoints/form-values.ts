import type { Endpoint, EndpointChange, InputFault, NewEndpoint } from '../../api/types.ts';

/** What stands in the fields of the form, as text. */
export type FormValues = {
  tenant: string;
  url: string;
  event_types: string;
  description: string;
  max_attempts: string;
  retry_schedule: string;
  rate_limit: string;
};

export type FieldName = keyof FormValues;

export function valuesOf(endpoint: Endpoint | undefined, tenant = ''): FormValues {
  const number = (value: number | null | undefined) => (value == null ? '' : String(value));
  return {
    tenant: endpoint?.tenant ?? tenant,
    url: endpoint?.url ?? '',
    event_types: endpoint?.event_types.join(', ') ?? '*',
    description: endpoint?.description ?? '',
    max_attempts: number(endpoint?.max_attempts),
    retry_schedule: endpoint?.retry_schedule?.join(', ') ?? '',
    rate_limit: number(endpoint?.rate_limit),
  };
}

/** A new endpoint: what is empty is left to the service. */
export function toNewEndpoint(values: FormValues): NewEndpoint {
  const { url, ...rest } = parsed(values);
  const set = Object.entries(rest).filter(([, value]) => value !== null);
  return { tenant: values.tenant.trim(), url, ...Object.fromEntries(set) };
}

/** Only what differs from what the form began with; null = the default of the service. */
export function toChange(before: FormValues, values: FormValues): EndpointChange {
  const old: Record<string, unknown> = parsed(before);
  const fields = Object.entries(parsed(values)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]),
  );
  return Object.fromEntries(fields);
}

function parsed(values: FormValues) {
  const types = words(values.event_types);
  const schedule = words(values.retry_schedule).map(numeral);
  return {
    url: values.url.trim(),
    event_types: types.length === 0 ? ['*'] : types,
    description: values.description.trim() === '' ? null : values.description.trim(),
    max_attempts: values.max_attempts === '' ? null : numeral(values.max_attempts),
    retry_schedule: schedule.length === 0 ? null : schedule,
    rate_limit: values.rate_limit === '' ? null : numeral(values.rate_limit),
  };
}

/** The faults of the service at the fields they speak of; `''` collects the rest. */
export function faultsByField(
  faults: readonly InputFault[],
): Partial<Record<FieldName | '', string>> {
  const names = Object.keys(valuesOf(undefined));
  const byField: Record<string, string> = {};
  for (const { path, message } of faults) {
    const [, first = ''] = path.split('/');
    const name = names.includes(first) ? first : '';
    byField[name] = [byField[name], message].filter(Boolean).join(' ');
  }
  return byField;
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** What is no number goes as it is, so that the service refuses it at its field. */
function numeral(text: string): number {
  const value = Number(text);
  return Number.isNaN(value) ? (text as unknown as number) : value;
}
