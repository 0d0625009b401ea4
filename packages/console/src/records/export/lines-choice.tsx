import { NativeSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { ApiError, api } from '../../api/client.ts';
import type { TemplatePreview } from '../../api/types.ts';
import type { MissingRule } from '../../api/values.ts';
import { JsonText } from '../../ui/json-text.tsx';
import { Loaded } from '../../ui/list.tsx';
import { useRead } from '../../ui/poll.tsx';
import { lineKindOf, lineKinds, TemplateField } from '../../ui/template-field.tsx';
import { countOf } from '../../ui/words.ts';
import { type ExportChoice, selectionOf, whereOf } from './choice.ts';
import type { ChoicesProps } from './choices.tsx';
import classes from './export.module.css';

const rules: readonly { value: MissingRule; label: string }[] = [
  { value: 'refuse', label: 'a record fails the job' },
  { value: 'skip', label: 'it is left out and counted' },
];

/** Whoever writes a template sees its line when he rests. */
const restMillis = 400;

/** The choice of what the lines of NDJSON are: records, or what a template makes of each, with an example. */
export function LinesChoice(
  props: ChoicesProps & {
    choice: ExportChoice;
    /** Whether the records are known already. */
    isKnown: boolean;
    /** What is wrong with the template. */
    fault: string | null;
  },
): ReactNode {
  const { isFixed, choices, set, choice } = props;
  const [told, setTold] = useState<string | null>(null);
  const isTemplate = choices.lines !== 'records';
  return (
    <>
      <div className={`grid ${classes.selects} ${classes.pair}`}>
        <NativeSelect
          label="A line is"
          disabled={isFixed}
          value={choices.lines}
          data={[...lineKinds]}
          onChange={({ currentTarget: { value } }) => {
            setTold(null);
            set({ lines: lineKindOf(value) });
          }}
        />
        {isTemplate && (
          <NativeSelect
            label="Without a value"
            disabled={isFixed}
            value={choices.missing}
            data={rules}
            onChange={({ currentTarget: { value } }) =>
              set({ missing: value === 'skip' ? value : 'refuse' })
            }
          />
        )}
      </div>
      {choices.lines === 'own' && (
        <TemplateField
          isDisabled={isFixed}
          text={choices.templateText}
          fault={props.fault ?? told}
          onChange={(templateText) => {
            setTold(null);
            set({ templateText });
          }}
        />
      )}
      {isTemplate && (
        <p className="muted small">
          Lines for fine-tuning, in place of records. A job makes them, and proves that lines and
          records left out are all there are.
        </p>
      )}
      {choice.template !== undefined && props.isKnown && (
        <Preview choice={choice} template={choice.template} onFault={setTold} />
      )}
    </>
  );
}

type Previewed = TemplatePreview | { readonly fault: string };

/** The first line that a template makes, and which records among a few have no value for it. */
function Preview(props: {
  choice: ExportChoice;
  template: NonNullable<ExportChoice['template']>;
  onFault: (fault: string) => void;
}): ReactNode {
  const { onFault } = props;
  const where = whereOf(props.choice);
  const [asked] = useDebouncedValue(
    JSON.stringify({
      ...selectionOf(props.choice),
      ...(where !== undefined && props.choice.version === undefined && { where }),
      template: props.template,
    }),
    restMillis,
  );
  const query = useRead<Previewed>(
    ['records', 'template', asked],
    (signal) => preview(asked, signal, onFault),
    { isOne: true, everyMillis: null },
  );
  return (
    <Loaded query={query} name="the first line" rows={3}>
      {(seen) =>
        'fault' in seen ? null : (
          <section aria-label="First line">
            {seen.line !== null && <JsonText source={seen.line} />}
            <p className={`${seen.line === null ? 'warning' : 'muted'} small`}>
              {previewText(seen)}
            </p>
          </section>
        )
      }
    </Loaded>
  );
}

/** A template that the service refuses is no outage, which a banner would tell. */
async function preview(
  asked: string,
  signal: AbortSignal,
  onFault: (fault: string) => void,
): Promise<Previewed> {
  try {
    const body: unknown = JSON.parse(asked);
    return await api.post<TemplatePreview>('/exports/ndjson/preview', body, { signal });
  } catch (error) {
    const fault = faultAt(error, '/template');
    if (fault === null) throw error;
    onFault(fault);
    return { fault };
  }
}

/** What the service said of one field of a request that it refused. */
export function faultAt(error: unknown, path: string): string | null {
  const faults = error instanceof ApiError ? error.errors : [];
  return faults.find((fault) => fault.path === path)?.message ?? null;
}

/** `The line of fl-0812 of DFW. Of 20 records 3 have no value: {{prompt}} in 2, {{label}} in 1`. */
export function previewText({ record, looked, skipped }: TemplatePreview): string {
  if (looked === 0) return 'None of the first and last records fits, so there is no example.';
  const each = Object.entries(skipped.fields).map(([name, count]) => `{{${name}}} in ${count}`);
  const of = record === null ? '' : `The line of ${record.event_id} of ${record.store}. `;
  const lacking =
    skipped.rows === 0 ? 'all have a value' : `${skipped.rows} have no value: ${each.join(', ')}`;
  return `${of}Of ${countOf(looked, 'record')} from both ends ${lacking}.`;
}
