import { Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { NewSchedule, Schedule } from '../api/types.ts';
import { type ExportFormat, exportFormats, runEventTypes } from '../api/values.ts';
import { ActionForm } from '../ui/form.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { exportsKey } from '../ui/poll.tsx';
import {
  type Lines,
  lineKindOf,
  lineKinds,
  noTemplate,
  readLines,
  TemplateField,
} from '../ui/template-field.tsx';
import { notify } from '../ui/toasts.tsx';
import { useForm } from '../ui/use-form.ts';

/** The form for a schedule. The service tries its place before it makes it. */
export function NewSchedulePanel(props: {
  onClose: () => void;
  onMade: (id: string) => void;
}): ReactNode {
  return (
    <Panel
      kind="NEW SCHEDULE"
      title=""
      id="new-schedule"
      closeLabel="Close the new schedule"
      onClose={props.onClose}
    >
      <PanelBody>
        <ScheduleForm onMade={props.onMade} />
      </PanelBody>
    </Panel>
  );
}

const empty = {
  tenant: '',
  name: '',
  cron: '0 2 * * *',
  to: '',
  store: '',
  where: '',
  keyId: '',
  secret: '',
  templateText: '',
};
type Values = typeof empty & {
  format: ExportFormat;
  starts: 'all' | 'now';
  typed: boolean;
  lines: Lines;
  webhook: boolean;
};

/** The body for a new schedule: what is left empty is left out. */
export function toNewSchedule(values: Values): NewSchedule {
  const { keyId, secret, format, starts, webhook, typed, lines, templateText, ...texts } = values;
  const { template } = format === 'ndjson' ? readLines(lines, templateText) : noTemplate;
  const { tenant, cron, to, ...others } = texts;
  const given = Object.entries(others).flatMap(([name, text]) =>
    text.trim() === '' ? [] : [[name, text.trim()]],
  );
  return {
    tenant: tenant.trim(),
    cron: cron.trim(),
    to: to.trim(),
    format,
    starts,
    ...Object.fromEntries(given),
    ...(format === 'parquet' && typed && { typed }),
    ...(template !== undefined && { template }),
    ...(webhook && { webhook }),
    ...(isBucket(to) && {
      credentials: { access_key_id: keyId.trim(), secret_access_key: secret },
    }),
  };
}

export const isBucket = (to: string) => /^\s*s3:/i.test(to);

export const cronLabel = 'When: minute, hour, day, month, weekday, in UTC';
const skipped = 'A record without a value for it is left out and counted';

function ScheduleForm({ onMade }: { onMade: (id: string) => void }): ReactNode {
  const form = useForm<Values, Schedule>({
    first: {
      ...empty,
      format: 'parquet',
      starts: 'all',
      typed: false,
      lines: 'records',
      webhook: false,
    },
    call: (values) => api.post<Schedule>('/exports/schedules', toNewSchedule(values)),
    onDone: ({ id, name }) => {
      notify({ text: `Made ${name}` });
      onMade(id);
    },
    changes: exportsKey,
    renamed: { url: 'to', credentials: 'keyId', template: 'templateText' },
  });
  const { values, faults, set } = form;
  const { lines, templateText, format } = values;
  // Of an empty template nothing is said before somebody writes.
  const { fault } = format === 'ndjson' ? readLines(lines, templateText) : noTemplate;
  const written = templateText.trim() === '' ? undefined : (fault ?? undefined);
  const text = (name: keyof typeof empty, label: string, placeholder: string) => (
    <TextInput label={label} placeholder={placeholder} maxLength={2000} {...form.text(name)} />
  );
  return (
    <ActionForm
      label="New schedule"
      {...form.sent}
      isReady={fault === null}
      button="Try the place, and make it"
      isFaultAbove
    >
      {text('tenant', 'Tenant', 'TX')}
      {text('name', 'Name', 'nightly')}
      {text('cron', cronLabel, '0 2 * * *')}
      {text('to', 'To', 's3://bucket/{tenant}/{date}?region=eu-central-1')}
      {isBucket(values.to) && (
        <>
          {text('keyId', 'Access key id', 'AKIA…')}
          <PasswordInput label="Secret access key" maxLength={500} {...form.text('secret')} />
        </>
      )}
      <NativeSelect label="Format" {...form.choice('format')} data={[...exportFormats]} />
      {format === 'parquet' && (
        <Checkbox
          label="Typed fields"
          description="Fields of the enrichment as columns, as they are in what is stored now; what fits none goes to _rest"
          {...form.box('typed')}
        />
      )}
      {format === 'ndjson' && (
        <LinesFields {...values} set={set} fault={written ?? faults.templateText} />
      )}
      <NativeSelect
        label="Begins with"
        {...form.choice('starts')}
        data={[
          { value: 'all', label: 'all that is stored' },
          { value: 'now', label: 'what is stored from now on' },
        ]}
      />
      {text('store', 'Only of this store', 'all')}
      {text('where', 'Only where', 'score >= 0.9')}
      <Checkbox {...webhookWords} {...form.box('webhook')} />
    </ActionForm>
  );
}

/** The choice of what the lines of NDJSON are. */
function LinesFields({
  lines,
  templateText,
  fault,
  set,
}: Pick<Values, 'lines' | 'templateText'> & {
  fault: string | undefined;
  set: (change: Partial<Values>) => void;
}): ReactNode {
  return (
    <>
      <NativeSelect
        label="A line is"
        description={lines === 'records' ? undefined : skipped}
        value={lines}
        data={[...lineKinds]}
        onChange={(event) => set({ lines: lineKindOf(event.currentTarget.value) })}
      />
      {lines === 'own' && (
        <TemplateField
          text={templateText}
          fault={fault}
          onChange={(text) => set({ templateText: text })}
        />
      )}
    </>
  );
}

/** Asks whether the end of each run is reported as an incident. */
export const webhookWords = {
  label: 'Report the end of each run as an incident',
  description: `Endpoints of its tenant get ${runEventTypes.join(' or ')}`,
};
